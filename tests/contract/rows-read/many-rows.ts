import {
  type Admin,
  type Column,
  type Constraint,
  columnsIn,
  constraintsIn,
  tenantTables,
  type UniqueIndex,
  uniqueIndexesIn,
} from "../../support/schema.ts";
import { type Planted, plantRows } from "../planted-rows.ts";

/** An installation or a property has few of these, however many people there are. */
const FEW = new Set([
  ...["api_keys", "directory_version", "installation", "memberships", "migrations", "properties"],
  ...["queue", "schedule_ticks", "signing_keys", "sms_keyword_defaults", "system_ledger_heads", "voice_laws"],
  ...["campaign_links", "campaigns", "custom_fields", "frequency_rules", "segments", "templates"],
  ...["code_pools", "game_counts", "game_laws", "game_prizes", "game_seeds", "games"],
  ...[
    "journey_counts",
    "journey_limits",
    "journey_nodes",
    "journey_triggers",
    "journey_versions",
    "journeys",
  ],
  ...["message_providers", "property_theme", "provider_usage", "push_keys", "quiet_hours_rules"],
  ...[
    "audit_retirements",
    "import_jobs",
    "sending_pauses",
    "sms_keywords",
    "uploads",
    "validation_jobs",
    "webhook_endpoints",
  ],
]);

/** The tables whose rows a column names, with a foreign key or without. */
const NAMED: Readonly<Record<string, string>> = {
  player_id: "players",
  referred_id: "players",
  send_id: "campaign_sends",
  enrollment_id: "journey_enrollments",
  play_id: "game_plays",
  used_play_id: "game_plays",
  ticket_id: "game_tickets",
};

/** Nothing is left to be done about these rows. */
const DONE: Readonly<Record<string, Readonly<Record<string, string | null>>>> = {
  campaign_sends: { status: "sent" },
  import_errors: { code: "type_mismatch" },
  // They sleep: wake_at is set far ahead for each of them.
  journey_enrollments: {
    status: "active",
    phase: "waiting",
    send_id: null,
    wake_at: "2026-01-01",
    ended_at: null,
  },
  proposals: { status: "refused" },
  voice_calls: { status: "ended" },
  webhook_deliveries: { status: "delivered" },
};

type Row = Record<string, unknown>;

interface Schema {
  columns: Column[];
  constraints: Constraint[];
  uniques: UniqueIndex[];
}

/**
 * Gives each table that grows with people so many more rows: copies of one row of the property, each of another
 * person. Where it has none, the model is planted in the other property, which is empty afterwards. Answers the tables.
 */
export async function growTables(
  admin: Admin,
  { property, other, many }: { property: string; other: string; many: number },
): Promise<string[]> {
  const planted = await plantRows(admin, other);
  const schema: Schema = {
    columns: await columnsIn(admin),
    constraints: await constraintsIn(admin),
    uniques: await uniqueIndexesIn(admin),
  };
  const models = new Map<string, Row>();
  for (const table of new Set(schema.columns.map((one) => one.table))) {
    if (FEW.has(table)) continue;
    const model = await modelOf(admin, schema, table, { property, planted });
    if (model) models.set(table, model);
  }
  await admin.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    for (const [table, model] of models) {
      const own = schema.columns.filter((one) => one.table === table && !isGenerated(one));
      const values = own.map((column) => columnValue(column, model, models, schema));
      await sql`
        insert into ${sql(table)} (${sql(own.map(({ column }) => column))})
        select ${sql.unsafe(values.join(", "))}
        from jsonb_populate_record(null::${sql(table)}, ${model as never}) m, generate_series(1, ${many}::int) n`;
    }
    for (const table of tenantTables(schema.columns)) {
      await sql`delete from ${sql(table)} where property_id = ${other}`;
    }
  });
  await admin`analyze`;
  return [...models.keys()];
}

const isGenerated = ({ default: from }: Column) => /^(?:generated|identity)/.test(from ?? "");

async function modelOf(
  admin: Admin,
  { columns, constraints }: Schema,
  table: string,
  { property, planted }: { property: string; planted: Planted },
): Promise<Row | null> {
  const has = (name: string) => columns.some((one) => one.table === table && one.column === name);
  // The same row at each run: the oldest one of a person.
  const order = Object.entries({ player_id: "player_id is null", created_at: "created_at", id: "id" })
    .flatMap(([name, by]) => (has(name) ? by : []))
    .join(", ");
  const rows = (where: ReturnType<Admin>) => admin<{ row: Row }[]>`
    select to_jsonb(t) as row from ${admin(table)} t ${where}
    ${order === "" ? admin`` : admin.unsafe(`order by ${order}`)} limit 1`;
  const [own] = await rows(has("property_id") ? admin`where property_id = ${property}` : admin``);
  const done = DONE[table] ?? {};
  if (own) return { ...own.row, ...done };
  const key = planted.get(table);
  if (!key) return null;
  const [other] = await rows(
    admin`where ${Object.entries(key)
      .map(([name, value]) => admin`${admin(name)} = ${value as never}`)
      .reduce((all, one) => admin`${all} and ${one}`)}`,
  );
  const [now] = await admin<{ id: string }[]>`select uuid_v7() as id`;
  const model: Row = { ...other!.row, ...done, property_id: property, ...(has("id") && now) };
  // It refers to rows of this property.
  for (const { target, columns: names } of constraints) {
    const name = names.find((one) => one !== "property_id");
    if (!target || !FEW.has(target) || !name || !has(name)) continue;
    if (!constraints.some((one) => one.table === table && one.kind === "f" && one.columns.includes(name)))
      continue;
    const [there] = await admin`select id from ${admin(target)} where property_id = ${property} limit 1`;
    if (there) model[name] = there.id;
  }
  return model;
}

/** The value of a column in the n-th row, over the model `m`. */
function columnValue(
  { table, column, type }: Column,
  model: Row,
  models: ReadonlyMap<string, Row>,
  { constraints, uniques }: Schema,
): string {
  const named = NAMED[column];
  if (type === "uuid") {
    if (column === "id") return idOf(table, model);
    if (named && models.has(named)) return idOf(named, models.get(named)!);
    if (column === "entity_id") return idOf("entity", model);
  }
  if (column === "created_at") return "m.created_at - n * interval '1 second'";
  if (model[column] === null || column === "property_id") return `m."${column}"`;
  if (type === "bytea") return `sha256(('${column}' || n)::bytea)`;
  if (type === "bytea[]") return `array[sha256(('${column}' || n)::bytea)]`;
  if (column === "expires_at" || column === "wake_at") return "now() + interval '30 days'";
  if (column === "birth_date") return "date '1930-01-01' + n";
  if (/^(?:first|last)_name$/.test(column)) return `'Many' || n`;
  if (/^(?:email|recipient)$/.test(column)) return "'many' || n || '@example.com'";
  if (column === "phone") return "'+1702' || 5000000 + n";
  const isKey = uniques.some((one) => one.table === table && one.columns.includes(column));
  const isBound = constraints.some(
    (one) =>
      one.table === table &&
      one.columns.includes(column) &&
      (one.kind === "f" || (one.kind === "c" && one.definition.includes("ARRAY["))),
  );
  if (!isKey || isBound) return `m."${column}"`;
  if (type === "text") return `'many-' || n`;
  if (type === "uuid") return `md5('${column}' || n)::uuid`;
  if (/^timestamp/.test(type)) return `m."${column}" - n * interval '1 minute'`;
  if (/^(?:integer|bigint)$/.test(type)) return `m."${column}" + n`;
  return `m."${column}"`;
}

/** An id begins with its time, by which tables have partitions. */
function idOf(table: string, { id }: Row): string {
  const random = `md5('${table}' || n)`;
  return `('${String(id).slice(0, 15)}' || substr(${random}, 1, 3) || '-a' || substr(${random}, 4, 3) || '-' || substr(${random}, 7, 12))::uuid`;
}
