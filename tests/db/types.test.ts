import fc from "fast-check";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cast } from "#db/sql.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const back = (values: unknown[], type: string) =>
  database.db.asSystem(async (sql) => (await sql`select ${cast(values, type)} as v`)[0]?.v);

test("any list of texts comes back from PostgreSQL as it went", async () => {
  const text = fc.string({ unit: "grapheme" }).filter((one) => !one.includes("\0"));
  const lists = fc.array(fc.oneof(text, fc.constantFrom("NULL", "", "{}", '"', "\\", "a,b", null)));
  await fc.assert(
    fc.asyncProperty(lists, async (values) => {
      expect(await back(values, "text[]")).toEqual(values);
    }),
    { numRuns: 200 },
  );
});

test("lists of other types come back as what they are", async () => {
  expect(await back([1.5, null, -3e300], "float8[]")).toEqual([1.5, null, -3e300]);
  expect(await back([1, 9_007_199_254_740_991], "bigint[]")).toEqual([1, 9_007_199_254_740_991]);
  expect(await back(["\\x00ff5c22"], "bytea[]")).toEqual([Buffer.from("00ff5c22", "hex")]);
  expect(await back([{ a: [1, '"'] }], "jsonb[]")).toEqual([{ a: [1, '"'] }]);
  expect(await back(["2026-11-21T10:00:00.123456Z"], "timestamptz[]")).toEqual([
    "2026-11-21T10:00:00.123456+00:00",
  ]);
  expect(await back(["app_reader", null], "name[]")).toEqual(["app_reader", null]);
});

test.each(["America/New_York", "Asia/Tokyo"])(
  "a clock's time is sent as it is written, in a process of the zone %s",
  async (zone) => {
    const { TZ } = process.env;
    onTestFinished(() => {
      if (TZ === undefined) delete process.env.TZ;
      else process.env.TZ = TZ;
    });
    process.env.TZ = zone;
    const written = "2031-03-09T02:30:00";
    const [row] = await database.db.asSystem(
      (sql) =>
        sql`select ${written}::timestamp as clock, ${written}::timestamp::text as stored, ${"2031-03-09"}::date as day`,
    );
    expect(row).toEqual({ clock: "2031-03-09 02:30:00", stored: "2031-03-09 02:30:00", day: "2031-03-09" });
  },
);

test("a list without a cast is the list that the statement expects, also of names", async () => {
  const roles = await database.db.asSystem(
    (sql) => sql<{ name: string }[]>`
      select rolname as name from pg_roles where rolname = any(${["app_reader", "app_system"]}) order by 1`,
  );
  expect(roles.map(({ name }) => name)).toEqual(["app_reader", "app_system"]);
});
