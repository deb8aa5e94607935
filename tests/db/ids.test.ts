import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";

const { url, drop } = await testDatabase();
const admin = postgres(url, { max: 1, onnotice: () => {} });
afterAll(async () => {
  await admin.end();
  await drop();
});

test("the ids of one statement rise on servers of every version, and are UUIDv7 of this moment", async () => {
  const [made] = await admin`
    select count(*)::int as all, count(distinct id)::int as ids,
      -- Below PostgreSQL 18 two ids of one microsecond have no order.
      count(*) filter (where left(id::text, 18) < left(before::text, 18))::int as falling,
      bool_and(id::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') as is_v7,
      count(distinct left(id::text, 13))::int < count(*) / 10 as share_milliseconds,
      bool_and(abs(('x' || replace(left(id::text, 13), '-', ''))::bit(48)::bigint
        - extract(epoch from clock_timestamp()) * 1000) < 60000) as are_of_now
    from (
      select id, lag(id) over (order by n) as before
      from (select n, uuid_v7() as id from generate_series(1, 20000) n offset 0) made) pairs`;
  expect(made).toEqual({
    all: 20_000,
    ids: 20_000,
    falling: 0,
    is_v7: true,
    share_milliseconds: true,
    are_of_now: true,
  });
});

test("an id with the time of another is in the order of the others", async () => {
  const [made] = await admin`
    select bool_and(copy >= first_id_of('2026-01-02T03:04:05.678Z') and copy < first_id_of('2026-01-02T03:04:05.679Z')) as in_time,
      bool_and(left(copy::text, 18) = left(id::text, 18)) as as_fine, count(distinct copy)::int as ids
    from (
      select id, uuid_v7_of(id) as copy
      from (select '019b7ca9-8f2e-7abc-8000-000000000000'::uuid as id from generate_series(1, 100)) o) c`;
  expect(made).toEqual({ in_time: true, as_fine: true, ids: 100 });
});

test("no id of a millisecond is below the first id of any moment in it", async () => {
  const [first] = await admin`
    select first_id_of('2026-01-02T03:04:05.6789Z') = first_id_of('2026-01-02T03:04:05.678Z') as is_floor`;
  expect(first).toEqual({ is_floor: true });
});
