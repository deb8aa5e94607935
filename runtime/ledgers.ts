import { randomBytes } from "node:crypto";
import {
  asValues,
  castValues,
  type Fragment,
  identifier,
  join,
  raw,
  recordset,
  type Sql,
  sql,
} from "#db/sql.ts";

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
  return saltedHash(
    raw(`${row}.salt`),
    Object.keys(LEDGERS[ledger].personal).map((name) => raw(`${row}.${name}`)),
  );
}

/** SQL of the hash of a row's permanent part. The session's time zone is UTC. */
export function recordHash(ledger: LedgerName, row: string): Fragment {
  const { sealed, written } = LEDGERS[ledger];
  const names = [...Object.keys(sealed), ...written, "detail_hash"];
  return sealedHash(names.map((name) => [name, raw(`${row}.${name}`)]));
}

function saltedHash(salt: Fragment, personal: Fragment[]): Fragment {
  return sql`salted_hash(${salt}, jsonb_build_array(${join(personal)}))`;
}

function sealedHash(fields: [string, Fragment][]): Fragment {
  return sql`sealed_hash(jsonb_build_object(${join(fields.map(([name, value]) => sql`${raw(`'${name}'`)}, ${value}`))}))`;
}

/** Appends rows to a ledger, with their hashes. */
export function appendRows(transaction: Sql, ledger: LedgerName, rows: readonly object[]) {
  return transaction`${appended(ledger, rows)}`;
}

/** The insert that appends rows to a ledger, with their hashes. A bytea value comes as a text in hex: `\x…`. */
export function appended(ledger: LedgerName, rows: readonly object[]): Fragment {
  const { sealed, personal, written } = LEDGERS[ledger];
  const names = [
    ...Object.keys({ ...sealed, ...personal }),
    ...written,
    "salt",
    "detail_hash",
    "record_hash",
  ];
  const into = sql`insert into ${raw(ledger)} (${join(names.map(identifier))})`;
  if (!asValues(rows)) return sql`${into} ${manyRows(ledger, rows)} returning 1`;
  return sql`${into} values ${join(rows.map((row) => sql`(${join(rowValues(ledger, row))})`))} returning 1`;
}

/** A consent may occur within the transaction; the transaction's start would record it before that. */
const WRITTEN_AT: Readonly<Record<string, Fragment>> = {
  created_at: raw("now()"),
  recorded_at: raw("statement_timestamp()"),
};

function rowValues(ledger: LedgerName, row: object): Fragment[] {
  const { sealed, personal, written } = LEDGERS[ledger];
  const [own, detail] = [castValues(inserted(sealed), row), castValues(inserted(personal), row)];
  const times = written.map((name) => WRITTEN_AT[name]!);
  const salt = sql`${randomBytes(32)}::bytea`;
  const hash = saltedHash(salt, detail);
  const fields = [...Object.keys(sealed), ...written, "detail_hash"];
  const hashed = [...own, ...times, hash].map((value, index): [string, Fragment] => [fields[index]!, value]);
  return [...own, ...detail, ...times, salt, hash, sealedHash(hashed)];
}

function manyRows(ledger: LedgerName, rows: readonly object[]): Fragment {
  const { sealed, personal, written } = LEDGERS[ledger];
  const given = { ...sealed, ...personal };
  const times = written.map((name) => sql`${WRITTEN_AT[name]!} as ${identifier(name)}`);
  return sql`
    select r.*, ${recordHash(ledger, "r")}
    from (
      select d.*, ${detailHash(ledger, "d")} as detail_hash
      from (
        select ${join([...Object.keys(given).map(identifier), ...times])},
          sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) as salt
        from ${recordset(given, rows)}
      ) d
    ) r`;
}

/** Bytes come as text, as in JSON. */
function inserted(types: Columns): Columns {
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => [name, type === "bytea" ? "text::bytea" : type]),
  );
}
