import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TRACES } from "#tools/privacy/traces/all.ts";
import { plantRows } from "../../contract/planted-rows.ts";
import { rowsRead } from "../../support/rows-read.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { columnsIn, uniqueIndexesIn } from "../../support/schema.ts";
import { startService, type TestService } from "../../support/service.ts";

// The rows of one person are found by indexes, however many rows the others have in the same tables.

const MANY = 5_000;
const FEW = 100;
const SEARCHED = new Set(TRACES.flatMap(({ table, searched }) => (searched ? [table] : [])));
/** Tables with rows for each player. What is searched for texts has fewer rows than players. */
const TABLES = [...new Set(TRACES.map(({ table }) => table))].filter((table) => !SEARCHED.has(table));

let service: TestService;

beforeAll(async () => {
  service = await startService({ role: "web" });
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  await plantRows(admin, service.tenant.id);
  for (const table of TABLES) await multiply(admin, table);
  await admin.unsafe(`analyze ${TABLES.join(", ")}`);
  await admin.end();
}, 60_000);
afterAll(() => service.stop());

/** Values of other people, by the column's type. */
const OTHERS: Readonly<Record<string, string>> = {
  uuid: "gen_random_uuid()",
  bytea: "'\\x' || md5(random()::text)",
  text: "md5(random()::text)",
  integer: "n",
};

/** Many rows beside the planted one, each of another person. */
async function multiply(admin: postgres.Sql, table: string): Promise<void> {
  const columns = (await columnsIn(admin)).filter(
    (one) => one.table === table && !one.default?.startsWith("generated"),
  );
  const unique = (await uniqueIndexesIn(admin)).flatMap((one) => (one.table === table ? one.columns : []));
  const isPersons = (name: string) =>
    /^(?:id|player_id|referred_id|address_hash|phone_hash|email_hash|recipient)$/.test(name);
  const values = columns.flatMap(({ column, type }) =>
    (isPersons(column) || unique.includes(column)) &&
    !/^(?:property_id|game_id|channel|reason|list)$/.test(column) &&
    OTHERS[type]
      ? [`'${column}', ${OTHERS[type]}`]
      : [],
  );
  const names = columns.map(({ column }) => `"${column}"`);
  await admin.begin(async (sql) => {
    await sql`set local session_replication_role = replica`;
    await sql.unsafe(`
      insert into ${table} (${names.join(", ")})
      select ${names.map((name) => `(r.one).${name}`).join(", ")} from (
        select jsonb_populate_record(t, jsonb_build_object(${values.join(", ")})) as one
        from ${table} t, generate_series(1, ${MANY}) n
        -- Each record is made once, and not once for each of its columns.
        offset 0) r`);
  });
}

const about = async (first_name: string) => {
  const { tenant } = service;
  const person = { first_name, last_name: "Quorvend", email: `${first_name}@x.com`, phone: "+17025550123" };
  const playerId = await scenarioIn(service).player({
    ...person,
    player_id: `KX-${first_name}-1`,
    birth_date: "1970-05-05",
  });
  const segment = { name: first_name, description: `${first_name} Quorvend asked`, type: "static" };
  await service.call("create_segment", segment, tenant.id);
  return { propertyId: tenant.id, playerId };
};

test.each(["data-export", "data-deletion"])("of the rows of others, few are read by %s", async (name) => {
  const given = await about(name === "data-export" ? "Zora" : "Ysolde");
  const read = await rowsRead(service, TABLES, async () => {
    const { status, text } = await service.post(`/api/functions/${name}`, given);
    expect(status, text).toBe(200);
  });
  expect(read.players).toBeGreaterThan(0);
  expect(TABLES.filter((table) => read[table]! >= FEW).map((table) => `${table}: ${read[table]}`)).toEqual(
    [],
  );
});
