import { cast, type Fragment, identifier, join, raw, type Sql, sql } from "#db/sql.ts";

type Columns = Readonly<Record<string, string>>;

interface Ledger {
  /** The columns that the record's hash covers, beside the times of writing. */
  sealed: Columns;
  /** The columns that an erasure blanks. The sealed part holds their salted hash, which then reveals nothing. */
  personal: Columns;
  written: readonly string[];
}

/** The columns of an audit log, a property's or the platform's. */
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
export function detailHash(ledger: LedgerName, row: string): Fragment {
  const fields = Object.keys(LEDGERS[ledger].personal).map((name) => `${row}.${name}`);
  return raw(`salted_hash(${row}.salt, jsonb_build_array(${fields.join(", ")}))`);
}

/** SQL of the hash of a row's permanent part. The session's time zone is UTC. */
export function recordHash(ledger: LedgerName, row: string): Fragment {
  const { sealed, written } = LEDGERS[ledger];
  const fields = [...Object.keys(sealed), ...written, "detail_hash"].map(
    (name) => `'${name}', ${row}.${name}`,
  );
  return raw(`sealed_hash(jsonb_build_object(${fields.join(", ")}))`);
}

/** Appends rows to a ledger, with their hashes. */
export function appendRows(transaction: Sql, ledger: LedgerName, rows: readonly object[]) {
  return transaction`${appended(ledger, rows)}`;
}

/** The insert that appends rows to a ledger, with their hashes. bytea as `\\x…`. */
export function appended(ledger: LedgerName, rows: readonly object[]): Fragment {
  const { sealed, personal, written } = LEDGERS[ledger];
  const types = Object.entries({ ...sealed, ...personal });
  const names = types.map(([name]) => `"${name}"`).join(", ");
  const all = raw(`${names}, ${written.join(", ")}, salt, detail_hash`);
  const times = raw(written.map((name) => `${WRITTEN_AT[name]} as ${name}`).join(", "));
  return sql`
    insert into ${raw(ledger)} (${all}, record_hash)
    select ${all}, ${recordHash(ledger, "r")}
    from (
      select d.*, ${detailHash(ledger, "d")} as detail_hash
      from (
        select ${raw(names)}, ${times},
          sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt
        from ${given(types, rows)}
      ) d
    ) r
    returning 1`;
}

/** A consent may occur within the transaction; the transaction's start would record it before that. */
const WRITTEN_AT: Readonly<Record<string, string>> = {
  created_at: "now()",
  recorded_at: "clock_timestamp()",
};

/** The rows as a relation; a single row without a detour through JSON. */
function given(types: [string, string][], rows: readonly object[]): Fragment {
  if (rows.length !== 1) {
    const columns = raw(types.map(([name, type]) => `"${name}" ${type}`).join(", "));
    return sql`jsonb_to_recordset(${rows}::jsonb) as j(${columns})`;
  }
  const row = rows[0] as Record<string, unknown>;
  return sql`(select ${join(types.map(([name, type]) => sql`${cast(row[name] ?? null, type === "bytea" ? "text::bytea" : type)} as ${identifier(name)}`))}) j`;
}
