import { randomBytes, randomInt, randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TRACES } from "#tools/privacy/traces/all.ts";
import { SCRUBBED, VERSIONED } from "#tools/privacy/traces/scrubbed-texts.ts";
import {
  type Admin,
  type Column,
  columnsIn,
  tenantTables,
  type UniqueIndex,
  uniqueIndexesIn,
} from "../../support/schema.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Planted, plantRows } from "../planted-rows.ts";
import { SERVICE_WRITES, UNREACHED } from "./unreached.ts";

let service: TestService;
let admin: Admin;
let columns: Column[];
let uniqueIndexes: UniqueIndex[];
/** The columns that take words. */
let texts: Column[];

beforeAll(async () => {
  // Without a worker, so that what is planted stays as it is.
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  columns = await columnsIn(admin);
  uniqueIndexes = await uniqueIndexesIn(admin);
  const tenants = tenantTables(columns);
  const rows = await plantRows(admin, service.tenant.id);
  texts = [];
  for (const one of columns) {
    if (!tenants.includes(one.table) || !/^(?:text|character|jsonb?)/.test(one.type)) continue;
    if (one.default?.startsWith("generated")) continue;
    if (await takesWords(one, rows)) texts.push(one);
  }
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

const said = (type: string, secret: string): unknown => {
  const words = `Said by ${secret}, at the desk.`;
  // A number in a rule or a count may be another.
  if (/json/.test(type)) return { player_id: secret, ...(!/^\d+$/.test(secret) && { note: words }) };
  return type.endsWith("[]") ? [words] : words;
};

/** Whether the table's checks let a caller's words stand in the column. */
async function takesWords({ table, column, type }: Column, rows: Planted): Promise<boolean> {
  const undone = new Error("undone");
  try {
    await admin.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      const value = said(type, "somebody") as never;
      await sql`update ${sql(table)} set ${sql({ [column]: value })} where ${matches(sql, rows.get(table)!)}`;
      throw undone;
    });
  } catch (error) {
    return error === undone;
  }
  return true;
}

function matches(sql: postgres.TransactionSql, key: Record<string, unknown>) {
  return Object.entries(key)
    .map(([name, value]) => sql`${sql(name)} = ${value as never}`)
    .reduce((all, one) => sql`${all} and ${one}`);
}

const isNote = ({ table, column }: Column) => SCRUBBED[table]?.notes?.[column] !== undefined;
const isSetting = ({ table, column }: Column) => SCRUBBED[table]?.settings?.[column] !== undefined;
/** An erasure finds the rows of all owners by their text. */
const isSearched = ({ table, column }: Column) =>
  !SERVICE_WRITES[table]?.includes(column) &&
  TRACES.some((one) => one.table === table && one.searched && removes(one.erasure, column));
/** It stands in a record of a person's own, and goes with that person. */
const isOwn = ({ table, column }: Column) =>
  TRACES.some((one) => one.table === table && removes(one.erasure, column));

function removes(erasure: (typeof TRACES)[number]["erasure"], column: string): boolean {
  return erasure === "delete" || (typeof erasure === "object" && column in erasure.set);
}

const nameOf = ({ table, column }: Pick<Column, "table" | "column">) => `${table}.${column}`;

test("every text of a tenant's table is reached by an erasure, or is named with the reason", () => {
  const unreached = texts.filter((one) => !isNote(one) && !isSetting(one) && !isOwn(one)).map(nameOf);
  const named = Object.values(UNREACHED).flatMap((tables) =>
    Object.entries(tables).flatMap(([table, some]) => some.map((column) => `${table}.${column}`)),
  );
  expect(
    unreached.sort(),
    "Name it in tools/privacy/traces/scrubbed-texts.ts, or here in UNREACHED with the reason.",
  ).toEqual(named.sort());
  const scrubbed = Object.entries(SCRUBBED).flatMap(([table, { notes, settings }]) =>
    Object.entries({ ...notes, ...settings }).map(([column, type]) => `${table}.${column} ${type}`),
  );
  expect(texts.map((one) => `${nameOf(one)} ${one.type}`)).toEqual(expect.arrayContaining(scrubbed));
});

test("an erasure counts a version of each record that has versions", () => {
  const versioned = columns.flatMap(({ table, column }) =>
    column === "version" && SCRUBBED[table] ? [table] : [],
  );
  expect(versioned).toEqual([...VERSIONED]);
});

const PERSON = {
  first_name: "Zyxabel",
  last_name: "Quorvendish",
  email: "zyxabel.q@canarymail.example",
  phone: "+17025550123",
};

/** How people write what tells of the person, with the person's player_id: where an erasure removes it. */
const WRITTEN: [what: string, secret: string, player_id: string, where: ((one: Column) => boolean)[]][] = [
  ["the email", PERSON.email, "CARD-1", [isNote, isSetting, isSearched]],
  ["the email in capitals", PERSON.email.toUpperCase(), "CARD-1", [isNote, isSetting, isSearched]],
  ["the phone", PERSON.phone, "CARD-1", [isNote, isSetting, isSearched]],
  ["the dialed phone", "(702) 555-0123", "CARD-1", [isNote, isSetting]],
  ["the name", "Zyxabel Quorvendish", "CARD-1", [isNote]],
  ["the name in a list", "Quorvendish, Zyxabel", "CARD-1", [isNote]],
  ["the name with more blanks", "Zyxabel  Quorvendish", "CARD-1", [isNote]],
  ["the name in two lines", "zyxabel\nQUORVENDISH", "CARD-1", [isNote]],
  ["the name in a list without a blank", "Quorvendish,Zyxabel", "CARD-1", [isNote]],
  ["a card number with letters", "KX-778812", "KX-778812", [isNote, isSetting, isSearched]],
  ["a card number", "445566778899", "445566778899", [isNote]],
  ["a word as an identifier", "winner", "winner", [isNote]],
];

test.each(WRITTEN)("of %s that others have written, nothing is left", async (_, secret, player_id, where) => {
  const { id: propertyId } = await service.newTenant();
  const rows = await plantRows(admin, propertyId);
  const { id: playerId } = await service.call("create_player", { player_id, ...PERSON }, propertyId);
  const written = texts.filter((one) => where.some((isIn) => isIn(one)));
  await write(written, rows, secret);
  expect((await found(propertyId, secret)).length).toBeGreaterThan(20);
  await service.call("data_deletion", { propertyId, playerId }, propertyId);
  expect(await found(propertyId, secret)).toEqual([]);
});

test.each([
  ["a full name", "Zyxabel Quorvendish", "CARD-1"],
  ["a number", "445566778899", "445566778899"],
  ["a word", "winner", "winner"],
])(
  "%s in a setting may mean something else: the erasure names every such text",
  async (_, secret, player_id) => {
    const { id: propertyId } = await service.newTenant();
    const rows = await plantRows(admin, propertyId);
    const { id: playerId } = await service.call("create_player", { player_id, ...PERSON }, propertyId);
    const settings = texts.filter(isSetting);
    await write(settings, rows, secret);
    const { look_at } = await service.call("data_deletion", { propertyId, playerId }, propertyId);
    const named = (look_at as { table: string; column: string }[]).map(nameOf);
    expect(named.sort()).toEqual(settings.map(nameOf).sort());
    const changed = (look_at as { column: string; table: string; text: string }[]).filter(
      (one) => one.text === "removed",
    );
    // A rule about a player_id has it for that player alone.
    const isText = (one: { table: string; column: string }) =>
      settings.some((setting) => nameOf(setting) === nameOf(one) && !/json/.test(setting.type));
    expect(changed.filter(isText)).toEqual([]);
  },
);

/** For each column a twin of the planted row has the words in it alone. */
async function write(some: Column[], rows: Planted, secret: string): Promise<void> {
  await admin.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    for (const one of some) await writeOne(sql, one, rows.get(one.table)!, secret);
  });
}

async function writeOne(
  sql: postgres.TransactionSql,
  { table, column, type }: Column,
  key: Record<string, unknown>,
  secret: string,
): Promise<void> {
  const own = columns.filter((one) => one.table === table && !one.default?.startsWith("generated"));
  const names = own.map((one) => one.column);
  const twin = { [column]: said(type, secret), ...(names.includes("id") && { id: randomUUID() }) };
  if (!("id" in twin)) {
    await sql`update ${sql(table)} set ${sql(twin as never)} where ${matches(sql, key)}`;
    return;
  }
  const fresh = { ...freshKeys(table, column), ...twin };
  await sql`
    insert into ${sql(table)} (${sql(names)})
    select ${sql(names)} from (
      select (jsonb_populate_record(t, ${fresh as never}::jsonb)).* from ${sql(table)} t
      where ${matches(sql, key)}) r`;
}

/** Values that set the twin apart in the unique indexes, besides the id and the column that is written. */
function freshKeys(table: string, written: string): Record<string, unknown> {
  const own = columns.filter((one) => one.table === table && one.column !== "property_id");
  const keys = uniqueIndexes.flatMap((one) =>
    one.table === table && !one.columns.includes(written) ? one.columns : [],
  );
  const word = randomBytes(8).toString("hex");
  const values: Record<string, unknown> = {
    uuid: randomUUID(),
    bytea: `\\x${word}`,
    integer: randomInt(1e9),
  };
  return Object.fromEntries(
    own.flatMap((one) => {
      // Indexes over part of a table name its rows by a flag.
      if (one.type === "boolean" && /^is_(?:default|open)$/.test(one.column)) return [[one.column, false]];
      if (!keys.includes(one.column)) return [];
      const value = texts.includes(one) ? word : values[one.type];
      return value === undefined ? [] : [[one.column, value]];
    }),
  );
}

/** The tables and rows of the property that have the secret, with any characters between its letters. */
async function found(propertyId: string, secret: string): Promise<string[]> {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[ (),./+-]/g, "");
  const some: string[] = [];
  for (const table of new Set(texts.map((one) => one.table))) {
    const rows = await admin<{ text: string }[]>`
      select t::text as text from ${admin(table)} t where property_id = ${propertyId}`;
    for (const { text } of rows) if (plain(text).includes(plain(secret))) some.push(`${table}: ${text}`);
  }
  return some;
}
