import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Database } from "#db/client.ts";
import { testDatabase } from "../support/database.ts";

const PROPERTY = "01900000-0000-7000-8000-00000000000a";
const RIVAL = "01900000-0000-7000-8000-00000000000b";

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
/** One connection, so that each transaction begins behind the commit of the one before it. */
let db: Database;

beforeAll(async () => {
  for (const [index, id] of [PROPERTY, RIVAL].entries()) {
    await admin`insert into properties (id, name, slug) values (${id}, 'P', ${`p${index}`})`;
  }
  db = connect(database.url, { size: 1, application: "client-test" });
});
afterAll(async () => {
  await db.close();
  await admin.end();
  await database.drop();
});

const name = (property: string, called: string, fails = false) =>
  db.asProperty(property, async (sql, last) => {
    await sql`insert into segments (property_id, name) values (${property}, ${called})`;
    const length = fails ? sql`${"x"}::int` : sql`1`;
    last(
      sql`insert into segments (property_id, name, version) values (${property}, ${`${called} last`}, ${length})`,
    );
  });
const named = async (property: string) => {
  const rows = await admin<{ name: string }[]>`
    select name from segments where property_id = ${property} order by name`;
  return rows.map((row) => row.name);
};

test("a transaction whose last statement fails leaves nothing, and takes nothing from those behind it", async () => {
  const all = await Promise.allSettled([
    name(PROPERTY, "a"),
    name(PROPERTY, "b", true),
    name(PROPERTY, "c"),
    name(PROPERTY, "d", true),
    name(PROPERTY, "e"),
  ]);
  expect(all.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  expect(await named(PROPERTY)).toEqual(["a", "a last", "c", "c last", "e", "e last"]);
});

test("transactions that follow each other in one write are each their own tenant's", async () => {
  const seen = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const property = index % 3 === 0 ? PROPERTY : RIVAL;
      const fails = index % 7 === 0;
      const work = db.asProperty(property, async (sql, last) => {
        const [row] = await sql<{ property: string; role: string }[]>`
          select current_property() as property, current_user as role`;
        if (fails) last(sql`select ${0}::int / 0`);
        return { ...row!, property: row!.property === property };
      });
      return work.catch(() => ({ property: fails, role: "app_property" }));
    }),
  );
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify({ property: true, role: "app_property" })]),
  );
});

test("a connection that breaks under a commit fails it and what has begun behind it, and is made anew", async () => {
  const [{ pid }] = await db.asSystem((sql) => sql<[{ pid: number }]>`select pg_backend_pid() as pid`);
  const broken = db.asProperty(PROPERTY, async (sql, last) => {
    await sql`select 1`;
    last(sql`insert into segments (property_id, name) values (${PROPERTY}, 'never')`);
    last(sql`select pg_sleep(30)`);
  });
  const behind = db.asProperty(PROPERTY, (sql) => sql`select 1`);
  const failures = Promise.allSettled([broken, behind]);
  const stop = async () => {
    const [stopped] = await admin<[{ done: boolean }?]>`
      select pg_terminate_backend(pid) as done from pg_stat_activity
      where pid = ${pid} and query like '%pg_sleep%' and state = 'active'`;
    return stopped?.done === true;
  };
  await expect.poll(stop, { timeout: 5_000 }).toBe(true);
  expect((await failures).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await named(PROPERTY)).not.toContain("never");
  // The driver fails one more query with the old error, once it is connected again.
  await name(RIVAL, "after").catch(() => name(RIVAL, "after"));
  expect(await named(RIVAL)).toEqual(["after", "after last"]);
});
