import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OPEN_PLAYS } from "#tools/games/play/columns.ts";
import { OPEN_JOBS } from "#tools/jobs/async-job.ts";
import { KEPT_TOGETHER } from "#tools/platform/retention.ts";
import { CONTACTABLE_STATUSES, KEPT_BY_NUMBER } from "#tools/statuses/players.ts";
import { OPEN_SENDS } from "#tools/statuses/sends.ts";
import { OPEN_CALLS } from "#tools/voice-calls/voice-calls.table.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";
import type { Admin } from "../../support/schema.ts";

/** The lists of the code that the database repeats, by the index or the generated column that repeats each. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  "campaign_sends.is_open": OPEN_SENDS,
  game_plays_open: OPEN_PLAYS,
  import_jobs_open: OPEN_JOBS,
  "players.bars_email": CONTACTABLE_STATUSES,
  "players.bars_sms": CONTACTABLE_STATUSES,
  "players.bars_voice": CONTACTABLE_STATUSES,
  players_barred_id: KEPT_BY_NUMBER,
  validation_jobs_open: OPEN_JOBS,
  voice_calls_open: OPEN_CALLS,
};

let database: TestDatabase;
let admin: Admin;
beforeAll(async () => {
  database = await testDatabase();
  admin = postgres(database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await database.drop();
});

test("a list of values in an index or a generated column is a list of the code", async () => {
  const written = await admin<{ place: string; text: string }[]>`
    select x.relname as place, pg_get_expr(i.indpred, i.indrelid) as text
    from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and i.indpred is not null
    union all
    select c.relname || '.' || a.attname, pg_get_expr(d.adbin, d.adrelid)
    from pg_attribute a join pg_class c on c.oid = a.attrelid
      join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and a.attgenerated <> ''`;
  const found = written.flatMap(({ place, text }) =>
    [...text.matchAll(/ARRAY\[([^\]]*)\]/g)].map(([, list]) => [place, wordsOf(list!)]),
  );
  expect(
    Object.fromEntries(found),
    "Export the list from the code that reads by it, write its SQL with `literals`, and name it in LISTS here.",
  ).toEqual(Object.fromEntries(Object.entries(LISTS).map(([place, list]) => [place, [...list].sort()])));
});

const wordsOf = (list: string) => [...list.matchAll(/'([^']*)'/g)].map(([, word]) => word!).sort();

test("each table with months has a retention, after which they are dropped", async () => {
  const tables = await admin<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'p' and relnamespace = 'public'::regnamespace`;
  expect(tables.map(({ name }) => name).sort()).toEqual(Object.values(KEPT_TOGETHER).flat().sort());
});

test("the alphabet has the bars of a number in their order, by which SQL takes the last", () => {
  expect(KEPT_BY_NUMBER).toEqual([...KEPT_BY_NUMBER].sort());
});
