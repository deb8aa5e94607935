import type { Statement } from "./conditions-statement.ts";

export type FieldType =
  | "text"
  | "number"
  | "boolean"
  | "timestamp"
  | "date"
  | "uuid"
  | "list"
  | "custom"
  | "flag"
  | "segment";

/** Something a condition can ask about a player: its type, and its SQL over `players p`. */
export interface Field {
  name: string;
  type: FieldType;
  sql: string;
  /** The SQL type that the values it is compared with are cast to. */
  cast: string;
}

/** The player columns that a condition may name. */
export const COLUMNS = {
  id: "uuid",
  property_id: "uuid",
  player_id: "text",
  email: "text",
  phone: "text",
  phone_e164: "text",
  first_name: "text",
  last_name: "text",
  tier: "text",
  adt: "number",
  coin_in: "number",
  lifetime_theo: "number",
  status: "text",
  timezone: "text",
  state: "text",
  postal_code: "text",
  country: "text",
  birth_date: "date",
  language: "text",
  phone_type: "text",
  email_status: "text",
  email_validated_at: "timestamp",
  last_visit_at: "timestamp",
  host_id: "uuid",
  import_job_id: "uuid",
  tags: "list",
  legal_hold: "boolean",
  created_at: "timestamp",
  updated_at: "timestamp",
} as const satisfies Record<string, FieldType>;

const CASTS: Record<FieldType, string> = {
  text: "text",
  number: "double precision",
  boolean: "boolean",
  timestamp: "timestamptz",
  date: "date",
  uuid: "uuid",
  list: "text[]",
  custom: "jsonb",
  flag: "boolean",
  segment: "boolean",
};

const UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

interface Family {
  form: string;
  pattern: RegExp;
  type: FieldType;
  meaning: string;
  sql(parts: string[], statement: Statement, segment: (id: string) => string): string;
}

/** The fields whose names carry a key, a channel or an id. */
export const FAMILIES: readonly Family[] = [
  {
    form: "custom.<key>",
    pattern: /^custom\.([a-z][a-z0-9_]{0,39})$/,
    type: "custom",
    meaning:
      "A custom field. It is compared as what the value is: a number with stored numbers, a text with stored texts, true or false with stored booleans; date operators read stored ISO 8601 dates and times.",
    sql: ([key], statement) => `nullif(p.custom -> ${statement.bind(key!, "text")}, 'null'::jsonb)`,
  },
  {
    form: "consent.<sms|email|voice|push>",
    pattern: /^consent\.(sms|email|voice|push)$/,
    type: "boolean",
    meaning: "The last consent given (true) or refused (false) for the channel; missing when never asked.",
    sql: ([channel]) =>
      `case p.consents -> '${channel}' when 'true'::jsonb then true when 'false'::jsonb then false end`,
  },
  {
    form: "suppressed.<sms|email|voice|push|all>",
    pattern: /^suppressed\.(sms|email|voice|push|all)$/,
    type: "flag",
    meaning: "Whether a suppression in force stops the channel for the player or for the channel's address.",
    sql: ([channel], statement) => suppressed(channel!, statement),
  },
  {
    form: "campaign.<id>.<sent|opened|clicked>",
    pattern: new RegExp(`^campaign\\.(${UUID})\\.(sent|opened|clicked)$`),
    type: "flag",
    meaning: "Whether the campaign's message was sent to, opened by or clicked by the player.",
    sql: ([id, what], statement) =>
      `exists (select 1 from campaign_sends c where c.property_id = ${statement.property}` +
      ` and c.campaign_id = ${statement.bind(id!, "uuid")} and c.player_id = p.id and ${SEND[what!]})`,
  },
  {
    form: "segment.<id>",
    pattern: new RegExp(`^segment\\.(${UUID})$`),
    type: "segment",
    meaning: "Whether the player is in the segment.",
    sql: ([id], _statement, segment) => segment(id!.toLowerCase()),
  },
];

const SEND: Record<string, string> = {
  sent: "c.status in ('sent', 'delivered')",
  opened: "c.opened_at is not null",
  clicked: "c.clicked_at is not null",
};

/** The names and forms that a condition's field may take. */
export const FIELD_FORMS: readonly string[] = [
  ...Object.keys(COLUMNS),
  ...FAMILIES.map((family) => family.form),
];

/** The field of that name, or nothing. `segment` gives the SQL of a segment's audience. */
export function fieldOf(
  name: string,
  statement: Statement,
  segment: (id: string) => string,
): Field | undefined {
  if (Object.hasOwn(COLUMNS, name)) {
    const type = COLUMNS[name as keyof typeof COLUMNS];
    // Phones are stored as E.164, so both names mean one column.
    return {
      name,
      type,
      sql: `p.${name === "phone_e164" ? "phone" : name}`,
      cast: CASTS[type],
    };
  }
  for (const family of FAMILIES) {
    const match = family.pattern.exec(name);
    if (!match) continue;
    const sql = family.sql(match.slice(1), statement, segment);
    return {
      name,
      type: family.type,
      sql: `(${sql})`,
      cast: CASTS[family.type],
    };
  }
  return undefined;
}

/** The id of the segment that a field names, in lower case. */
export function segmentNamed(field: string): string | undefined {
  return FAMILIES.at(-1)?.pattern.exec(field)?.[1]?.toLowerCase();
}

const HASHES: Record<string, string[]> = {
  email: ["p.email_hash"],
  sms: ["p.phone_hash"],
  voice: ["p.phone_hash"],
  push: [],
  all: ["p.email_hash", "p.phone_hash"],
};

/** One `exists` a key, not one with `or`: each can then be hashed or answered by its index. */
function suppressed(channel: string, statement: Statement): string {
  const channels = channel === "all" ? "'all'" : `'all', '${channel}'`;
  const live =
    `s.property_id = ${statement.property} and s.channel in (${channels}) and s.lifted_at is null` +
    " and (s.expires_at is null or s.expires_at > now())";
  const keys = ["s.player_id = p.id", ...HASHES[channel]!.map((hash) => `s.address_hash = ${hash}`)];
  return keys.map((key) => `exists (select 1 from suppressions s where ${live} and ${key})`).join(" or ");
}
