import type { Sql } from "#db/client.ts";
import { statement } from "#db/statement.ts";

type Columns = Readonly<Record<string, string>>;

interface Ledger {
  /** What the record's hash is over, beside the times at which the row was written. */
  sealed: Columns;
  /** What an erasure takes out. The sealed part holds its hash, salted, so that the hash tells nothing then. */
  personal: Columns;
  written: readonly string[];
}

/** What a row of an audit log says, whether a property's or the platform's. */
const AUDITED = {
  sealed: {
    id: "uuid",
    actor_type: "text",
    actor_id: "uuid",
    client: "text",
    action: "text",
    entity: "text",
    entity_id: "uuid",
  },
  personal: { diff: "jsonb", ip: "text", request_id: "text" },
  written: ["created_at"],
} as const satisfies Ledger;

/** The append-only tables, with the types of their columns. Each row carries the hash of its own content. */
export const LEDGERS = {
  audit_logs: { ...AUDITED, sealed: { property_id: "uuid", ...AUDITED.sealed } },
  consent_records: {
    sealed: {
      property_id: "uuid",
      id: "uuid",
      channel: "text",
      action: "text",
      consent_given: "boolean",
      consent_level: "text",
      purpose: "text",
      collection_method: "text",
      occurred_at: "timestamptz",
      expires_at: "timestamptz",
      actor_type: "text",
      actor_id: "uuid",
    },
    personal: {
      player_id: "uuid",
      consent_source: "text",
      consent_text: "text",
      consent_text_sha256: "text",
      consent_version: "text",
      jurisdiction: "text",
      ip_address: "text",
      user_agent: "text",
      address_hash: "bytea",
    },
    written: ["created_at", "recorded_at"],
  },
  system_audit_logs: AUDITED,
} as const satisfies Record<string, Ledger>;

export type LedgerName = keyof typeof LEDGERS;

/** The ledger that belongs to no property. */
export const PLATFORM_LEDGER = "system_audit_logs" satisfies LedgerName;
export type PropertyLedger = Exclude<LedgerName, typeof PLATFORM_LEDGER>;
export const PROPERTY_LEDGERS = (Object.keys(LEDGERS) as LedgerName[]).filter(
  (name): name is PropertyLedger => name !== PLATFORM_LEDGER,
);

/** SQL of the hash of a row's personal part. */
export function detailHashText(ledger: LedgerName, row: string): string {
  const fields = Object.keys(LEDGERS[ledger].personal).map((name) => `${row}.${name}`);
  return `salted_hash(${row}.salt, jsonb_build_array(${fields.join(", ")}))`;
}

/** SQL of the hash of a row, as far as it is never erased. The session's time zone is UTC. */
export function recordHashText(ledger: LedgerName, row: string): string {
  const { sealed, written } = LEDGERS[ledger];
  const fields = [...Object.keys(sealed), ...written, "detail_hash"].map(
    (name) => `'${name}', ${row}.${name}`,
  );
  return `sealed_hash(jsonb_build_object(${fields.join(", ")}))`;
}

/** A statement that appends rows to a ledger, with their hashes. bytea as `\x…`. */
export function appendRows(sql: Sql, ledger: LedgerName, rows: readonly object[]) {
  return statement(sql, { text: appendText(ledger), values: { rows } });
}

/** The text of that statement, whose rows are `$rows`; for one row without a detour, whose columns are `$ledger_…`. */
export function appendText(ledger: LedgerName, { one = false } = {}): string {
  const { sealed, personal, written } = LEDGERS[ledger];
  const types = Object.entries({ ...sealed, ...personal });
  const given = types.map(([name, type]) => `$ledger_${name}::${type} as "${name}"`).join(", ");
  const source = one
    ? `(select ${given}) as j`
    : `jsonb_to_recordset($rows::jsonb) as j(${types.map(([name, type]) => `"${name}" ${type}`).join(", ")})`;
  const names = types.map(([name]) => `"${name}"`).join(", ");
  const all = `${names}, ${written.join(", ")}, salt, detail_hash`;
  const salt = "sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt";
  return `
    insert into ${ledger} (${all}, record_hash)
    select ${all}, ${recordHashText(ledger, "r")}
    from (
      select d.*, ${detailHashText(ledger, "d")} as detail_hash
      from (
        select ${names}, ${written.map((name) => `now() as ${name}`).join(", ")}, ${salt}
        from ${source}
      ) d
    ) r`;
}
