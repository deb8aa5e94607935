import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { identifier, raw } from "#db/sql.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { CATALOG } from "#tools/catalog.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import {
  type Admin,
  type Column,
  type Constraint,
  columnsIn,
  constraintsIn,
  PLATFORM,
  tenantTables,
  type UniqueIndex,
  uniqueIndexesIn,
} from "../../support/schema.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { untraced } from "./untraced.ts";

let database: TestDatabase;
let admin: Admin;
let columns: Column[];
let constraints: Constraint[];
let uniqueIndexes: UniqueIndex[];
let tenants: string[];
let [own, rival]: string[] = [];
let [ownRows, rivalRows]: Planted[] = [];

beforeAll(async () => {
  database = await testDatabase();
  admin = postgres(database.url, { max: 1, onnotice: () => {} });
  columns = await columnsIn(admin);
  constraints = await constraintsIn(admin);
  uniqueIndexes = await uniqueIndexesIn(admin);
  tenants = tenantTables(columns);
  [own, rival] = [await newProperty("own"), await newProperty("rival")];
  [ownRows, rivalRows] = [await plantRows(admin, own), await plantRows(admin, rival)];
});

afterAll(async () => {
  await admin.end();
  await database.drop();
});

async function newProperty(slug: string): Promise<string> {
  const [row] = await admin<{ id: string }[]>`
    insert into properties (name, slug) values (${slug}, ${slug}) returning id`;
  return row!.id;
}

/** The words that a column may hold, by its schema; null where it may hold others. */
function wordsOf(schema: z.ZodType): string[] | null {
  if (schema instanceof z.ZodEnum) return schema.options.map(String).sort();
  return "unwrap" in schema && !(schema instanceof z.ZodArray)
    ? wordsOf((schema.unwrap as () => z.ZodType)())
    : null;
}

/** The words of a CHECK of the form `column = any (array['…', …])` or `column = '…'`. */
function checkedWords(table: string, column: string): string[] | undefined {
  const check = constraints.find(
    (one) =>
      one.table === table && one.kind === "c" && String(one.columns) === column && isList(one.definition),
  );
  return check && [...check.definition.matchAll(/'([^']*)'/g)].map(([, word]) => word!).sort();
}

const isList = (definition: string) => /= (?:ANY|')/.test(definition) && !/\b(?:AND|OR)\b/.test(definition);

/** The columns whose words are the adapters of vendors: each vendor adds one. */
const ADAPTERS = ["message_providers.channel", "message_providers.kind"];

test("the words of every column that has few are those that its CHECK allows", () => {
  const seen: string[] = [];
  for (const table of CATALOG.tables.values()) {
    for (const [name, { schema, sql }] of Object.entries(table.columns)) {
      const words = wordsOf(schema);
      if (!words || sql !== undefined || ADAPTERS.includes(`${table.name}.${name}`)) continue;
      seen.push(`${table.name}.${name}`);
      expect.soft(checkedWords(table.name, name), `${table.name}.${name}`).toEqual(words);
    }
  }
  expect(seen).toContain("campaigns.status");
});

test("every table of the REST surface is a tenant's table with all the columns that it names, the internal too", () => {
  for (const table of CATALOG.tables.values()) {
    expect(tenants, table.name).toContain(table.name);
    const real = columns.filter((one) => one.table === table.name).map(({ column }) => column);
    const named = { ...readableOf(table).columns, ...table.columns };
    const stored = Object.entries(named).filter(([, { sql }]) => sql === undefined);
    expect(
      stored.map(([name]) => name).filter((name) => !real.includes(name)),
      table.name,
    ).toEqual([]);
  }
});

test("the states in which a column can be written are states that its table has", () => {
  const seen: string[] = [];
  for (const { name, columns: own } of CATALOG.tables.values()) {
    const states = own.status && wordsOf(own.status.schema);
    for (const [column, rules] of Object.entries(own)) {
      if (!rules.while) continue;
      seen.push(`${name}.${column}`);
      expect.soft(states, `${name}.${column}`).toEqual(expect.arrayContaining([...rules.while]));
    }
  }
  expect(seen).toContain("campaigns.subject");
});

test("every row of a tenant names its property", () => {
  const open = columns.filter(
    ({ table, column, type, required }) =>
      tenants.includes(table) && column === "property_id" && !(required && type === "uuid"),
  );
  expect(open).toEqual([]);
});

test("every primary key and every unique index of a tenant's table starts with the property", () => {
  const loose = uniqueIndexes.filter(
    (one) => tenants.includes(one.table) && one.columns[0] !== "property_id",
  );
  expect(loose).toEqual([]);
  const keyed = constraints.filter(({ kind }) => kind === "p").map(({ table }) => table);
  expect(tenants.filter((table) => !keyed.includes(table))).toEqual([]);
});

test("a foreign key between tenants' tables starts with the property on both sides", () => {
  const foreign = constraints.filter(({ kind, table }) => kind === "f" && tenants.includes(table));
  const loose = foreign.filter(({ columns: names, target, targetColumns }) =>
    target === "properties"
      ? names.join() !== "property_id"
      : !tenants.includes(target ?? "") || names[0] !== "property_id" || targetColumns[0] !== "property_id",
  );
  expect(loose).toEqual([]);
  // Setting a composite key to null would take the property out of the row.
  expect(foreign.filter(({ onDelete }) => onDelete === "n" || onDelete === "d")).toEqual([]);
});

test("an export and an erasure of a person know every table and column that knows a person", () => {
  expect(
    untraced(columns),
    "Name each in TRACES (tools/privacy/traces/all.ts), or the table in IMPERSONAL (tests/contract/schema/impersonal.ts).",
  ).toEqual([]);
});

test("nothing of the platform points into a tenant's table", () => {
  const inward = constraints.filter(
    ({ kind, table, target }) => kind === "f" && !tenants.includes(table) && tenants.includes(target ?? ""),
  );
  expect(inward).toEqual([]);
});

// Citus has a trigger of its own on each distributed table.
test("there are no triggers, sequences, identities, rules or inherited tables", async () => {
  const found = await admin`
    select 'trigger' as kind, tgname as name from pg_trigger t where not tgisinternal and not exists (
      select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = t.tgfoid and d.deptype = 'e')
    union all select 'sequence', relname from pg_class
      where relkind = 'S' and relnamespace = 'public'::regnamespace
    union all select 'rule', rulename from pg_rules where schemaname = 'public'`;
  expect([...found]).toEqual([]);
  expect(columns.filter((one) => one.default === "identity" || /nextval/.test(one.default ?? ""))).toEqual(
    [],
  );
});

test("row-level security is on and forced, with the tenant's and the reader's policy and no wider one", async () => {
  const tables = await admin<{ name: string; enabled: boolean; forced: boolean }[]>`
    select relname as name, relrowsecurity as enabled, relforcerowsecurity as forced
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  const open = tables.filter(({ name, enabled, forced }) => tenants.includes(name) && !(enabled && forced));
  expect(open).toEqual([]);
  const policies = await admin<
    {
      table: string;
      name: string;
      permissive: string;
      roles: string[];
      cmd: string;
      qual: string;
      check: string;
    }[]
  >`
    select tablename as "table", policyname as name, permissive, roles::text[] as roles, cmd, qual, with_check as "check"
    from pg_policies where schemaname = 'public'`;
  const mine = "(property_id = current_property())";
  for (const table of tenants) {
    const given = policies.filter((one) => one.table === table);
    expect(
      given.find(({ name }) => name === "tenant"),
      table,
    ).toMatchObject({
      roles: ["app_property"],
      cmd: "ALL",
      qual: mine,
      check: mine,
    });
    expect(
      given.find(({ name }) => name === "reader"),
      table,
    ).toMatchObject({ roles: ["app_reader"], cmd: "SELECT" });
    const others = given.filter(
      ({ name, permissive }) => permissive === "PERMISSIVE" && name !== "tenant" && name !== "reader",
    );
    expect(
      others.filter(({ roles }) => roles.join() !== "app_system"),
      table,
    ).toEqual([]);
  }
});

test("a tenant reads and writes its tables, the reader reads them, and the idle role can do nothing", async () => {
  const rows = await admin<
    {
      name: string;
      tenant: boolean;
      writes: boolean;
      reader: boolean;
      readerWrites: boolean;
      idle: boolean;
    }[]
  >`
    select relname as name, has_table_privilege('app_property', oid, 'select') as tenant,
      has_table_privilege('app_property', oid, 'insert') as writes,
      has_table_privilege('app_reader', oid, 'select') as reader,
      has_any_column_privilege('app_reader', oid, 'insert, update') as "readerWrites",
      has_any_column_privilege('app_idle', oid, 'select, insert, update, references')
        or has_table_privilege('app_idle', oid, 'delete, truncate, trigger') as idle
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  expect(rows.filter(({ idle, readerWrites }) => idle || readerWrites)).toEqual([]);
  const closed = rows.filter(
    ({ name, tenant, writes, reader }) => tenants.includes(name) && !(tenant && writes && reader),
  );
  // A tenant cannot say that its own audit rows were dropped by right.
  expect(closed.map(({ name }) => name)).toEqual(["audit_retirements"]);
  const platform = rows.filter(({ name, tenant, reader }) => !tenants.includes(name) && (tenant || reader));
  expect(platform.map(({ name }) => name).sort()).toEqual(["properties", "sms_keyword_defaults"]);
});

test("the ledgers can be added to; of a row the personal part can be blanked, once, and nothing changed", async () => {
  const [rights] = await admin`
    select has_table_privilege('app_property', 'audit_logs', 'delete, truncate') as audit_delete,
      has_table_privilege('app_property', 'consent_records', 'delete, truncate') as consent_delete,
      has_any_column_privilege('app_property', 'ledger_seals', 'update')
        or has_table_privilege('app_property', 'ledger_seals', 'delete, truncate') as seals`;
  expect(rights).toEqual({ audit_delete: false, consent_delete: false, seals: false });
  const refused = async (statement: string) => {
    const changing = database.db.asProperty(own!, (sql) => sql`${raw(statement)}`);
    await expect(changing, statement).rejects.toMatchObject({ code: "42501" });
  };
  for (const ledger of ["audit_logs", "consent_records"]) {
    await refused(`update ${ledger} set action = 'granted'`);
    await refused(`update ${ledger} set created_at = now()`);
    await refused(`update ${ledger} set record_hash = 'x'`);
    await refused(`update ${ledger} set salt = 'x'`);
    await refused(`update ${ledger} set salt = null`);
  }
  await refused(`update audit_logs set diff = '{}', salt = null, erased_by = '${randomUUID()}'`);
  await refused(`update consent_records set consent_text = 'x', salt = null, erased_by = '${randomUUID()}'`);
});

test("the idle role is refused by every table", async () => {
  const everywhere = [...new Set(columns.map(({ table }) => table))];
  for (const table of everywhere) {
    const reading = admin.begin((sql) => [
      sql`set local role app_idle`,
      sql`select 1 from ${sql(table)} limit 1`,
    ]);
    await expect(reading, table).rejects.toMatchObject({ code: "42501" });
  }
});

test("a tenant sees and writes rows only with a property set", async () => {
  for (const table of tenants) {
    const [, seen] = await admin.begin((sql) => [
      sql`set local role app_property`,
      sql`select /* on purpose */ count(*)::int as rows from ${sql(table)}`,
    ]);
    expect(seen![0], table).toEqual({ rows: 0 });
  }
  await expect(
    admin.begin((sql) => [
      sql`set local role app_property`,
      sql`insert into idempotency_records (property_id, key, fingerprint, operation) values (${own!}, 'k', 'f', 'o')`,
    ]),
  ).rejects.toMatchObject({ code: "42501" });
});

test("a tenant sees its own row of every table and none of a rival's", async () => {
  for (const table of tenants) {
    const seen = await database.db.asProperty(
      own!,
      (sql) => sql<{ property_id: string }[]>`select /* on purpose */ property_id from ${identifier(table)}`,
    );
    expect([...seen], table).toEqual([{ property_id: own }]);
  }
  expect(new Set(rivalRows!.keys())).toEqual(new Set(tenants));
});

/** A cluster refuses every change of the column by which it distributes, before it asks the policies. */
const MOVES = inject("workers").length > 0 ? ["0A000"] : [];

test("a tenant can neither change, remove nor plant a rival's row", async () => {
  for (const table of tenants) {
    for (const verb of ["update", "delete", "insert"] as const) {
      const outcome = await database.db
        .asProperty(own!, (sql) => {
          if (verb === "delete") return sql`delete from ${identifier(table)} where property_id = ${rival!}`;
          if (verb === "update")
            return sql`update ${identifier(table)} set property_id = ${own!} where property_id = ${rival!}`;
          return sql`insert into ${identifier(table)} (property_id) values (${rival!})`;
        })
        .then(
          ({ count }) => count,
          (error: { code: string }) => error.code,
        );
      expect(verb === "update" ? [0, "42501", ...MOVES] : [0, "42501"], `${verb} ${table}`).toContain(
        outcome,
      );
    }
    const [left] =
      await admin`select count(*)::int as rows from ${admin(table)} where property_id = ${rival!}`;
    expect(left, table).toEqual({ rows: 1 });
  }
});

test("a row cannot point at a rival's row", async () => {
  const foreign = constraints.filter(
    ({ kind, table, target }) => kind === "f" && tenants.includes(table) && tenants.includes(target ?? ""),
  );
  for (const { table, columns: names, target, targetColumns } of foreign) {
    const set = Object.fromEntries(
      names.flatMap((name, place) =>
        name === "property_id" ? [] : [[name, rivalRows!.get(target!)![targetColumns[place]!]]],
      ),
    );
    const pointing = admin`update ${admin(table)} set ${admin(set as never)} where property_id = ${own!}`;
    await expect(pointing, `${table} to ${target}`).rejects.toMatchObject({ code: "23503" });
  }
  expect(foreign.length).toBeGreaterThan(10);
  expect(ownRows!.size).toBe(tenants.length);
});

test("a tenant sees of the platform its own property alone", async () => {
  const seen = await database.db.asProperty(own!, (sql) => sql<{ id: string }[]>`select id from properties`);
  expect([...seen]).toEqual([{ id: own }]);
  for (const table of [...PLATFORM, "users", "signing_keys", "system_audit_logs"]) {
    const reading = database.db.asProperty(own!, (sql) => sql`select * from ${identifier(table)}`);
    await expect(reading, table).rejects.toMatchObject({ code: "42501" });
  }
  await expect(
    database.db.asProperty(randomUUID(), (sql) => sql`select id from properties`),
  ).resolves.toHaveLength(0);
});
