import { randomBytes, randomUUID } from "node:crypto";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "#db/migrate.ts";
import { monthName, monthOf, startOf } from "#db/partitions/month.ts";
import { parseQuery } from "#db/query/parse.ts";
import { reader } from "#db/query/reader.ts";
import { type Fragment, inlined } from "#db/sql.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import auditLogs from "#tools/audit/audit-logs.table.ts";
import { testDatabase } from "../../support/database.ts";
import { idAt, makeMonth, monthsIn, PRESENT } from "./months.ts";

const { url, db, drop } = await testDatabase();
const admin = postgres(url, { max: 2, onnotice: () => {} });
const TABLES = ["audit_logs", "mailbox_messages", "outbox", "webhook_deliveries"];
const DAY = 86_400_000;
/** At the end of a table's name on a node of a Citus cluster. */
const SHARD = String.raw`_\d{6}$`;
const [own, rival] = [randomUUID(), randomUUID()];

afterAll(async () => {
  await admin.end();
  await drop();
});

/** An audit row that was written at a time, a little after its transaction began. */
const audited = async (property: string, moment: number, action = "x") => {
  const id = idAt(moment + 5);
  await admin`
    insert into audit_logs (property_id, id, actor_type, action, record_hash, created_at)
    values (${property}, ${id}, 'system', ${action}, '', ${new Date(moment).toISOString()})`;
  return id;
};

const partition = (month: number) => `audit_logs_${monthName(month).replace("-", "_")}`;

test("each table has the present month, the two after it, and a rest", async () => {
  const coming = [PRESENT, PRESENT + 1, PRESENT + 2].map(monthName);
  expect(await monthsIn(admin)).toEqual(Object.fromEntries(TABLES.map((table) => [table, coming])));
});

test("no role of the service reaches a partition, and its own user sees no row of one", async () => {
  const parts = await admin<{ name: string; forced: boolean; acl: string | null; policies: number }[]>`
    select c.relname as name, c.relforcerowsecurity and c.relrowsecurity as forced, c.relacl::text as acl,
      (select count(*)::int from pg_policy where polrelid = c.oid) as policies
    from pg_class c where c.relispartition and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`;
  expect(parts).toHaveLength(TABLES.length * 4);
  expect(parts.filter(({ forced, acl, policies }) => !forced || acl !== null || policies > 0)).toEqual([]);
  for (const role of ["app_property", "app_system", "app_reader", "app_idle"]) {
    for (const { name } of parts) {
      const reading = admin.begin((sql) => [
        sql.unsafe(`set local role ${role}`),
        sql.unsafe(`set local app.property_id = '${own}'`),
        sql`select 1 from ${sql(name)} limit 1`,
      ]);
      await expect(reading, `${role} ${name}`).rejects.toMatchObject({ code: "42501" });
    }
  }
});

test("a row of a month without a partition is in the rest, behind the same wall, and moves when the month is made", async () => {
  const moment = startOf(PRESENT + 7) + 1000;
  const id = await audited(own, moment);
  await audited(rival, moment);
  const seen = () =>
    db.asProperty(
      own,
      (sql) => sql<{ id: string; place: string }[]>`
        select /* on purpose */ id, regexp_replace(tableoid::regclass::text, ${SHARD}, '') as place from audit_logs
        where id >= first_id_of(${new Date(moment).toISOString()})`,
    );
  expect(await seen()).toEqual([{ id, place: "audit_logs_rest" }]);
  await makeMonth(admin, "audit_logs", PRESENT + 7);
  const name = partition(PRESENT + 7);
  expect(await seen()).toEqual([{ id, place: name }]);
  const [made] = await admin`
    select relforcerowsecurity as forced, (select count(*)::int from ${admin(name)}) as rows from pg_class where relname = ${name}`;
  expect(made).toEqual({ forced: true, rows: 2 });
});

test("a start does not wait for a reader of a table: a later one makes what is missing", async () => {
  const name = `mailbox_messages_${monthName(PRESENT + 2).replace("-", "_")}`;
  await admin`drop table ${admin(name)}`;
  await admin.begin(async (sql) => {
    await sql`select from mailbox_messages`;
    await migrate(url);
  });
  expect((await monthsIn(admin)).mailbox_messages).toHaveLength(2);
  await migrate(url);
  expect((await monthsIn(admin)).mailbox_messages).toHaveLength(3);
});

describe("a list of a table with two years of months", () => {
  const readable = readableOf(auditLogs);
  const OLDEST = PRESENT - 24;
  const cursorKey = randomBytes(32);
  /** A reader that notes the partitions of each statement. */
  const lookingAt = (read: string[][]) =>
    reader(
      {
        read: async (statement: Fragment, options) => {
          const lines = await admin.unsafe(`explain ${inlined(statement)}`);
          const plan = lines.map((line) => line["QUERY PLAN"]).join("\n");
          const names = [...plan.matchAll(/audit_logs_(\d{4}_\d\d|rest)/g)].map(([, name]) => name!);
          read.push([...new Set(names)].sort());
          return db.read(statement, options);
        },
      },
      { cursorKey },
    );
  /** The partitions that a list's statements read, statement by statement. */
  const reading = async (query: string, limit = 5) => {
    const read: string[][] = [];
    const looking = lookingAt(read);
    const params = new URLSearchParams(`limit=${limit}&select=id,created_at&${query}`);
    const page = await looking.list(own, readable, parseQuery(readable, params));
    return { read, page, ids: JSON.parse(page.body).map(({ id }: { id: string }) => id) as string[] };
  };
  const names = (...months: number[]) => months.map((month) => monthName(month).replace("-", "_"));
  const ids: string[] = [];
  /** On the first day of a month a month more: a row is written a while before it gets its id's month. */
  const newest = monthOf(Date.now() - DAY) - 1;
  const FEW = [
    ...names(...Array.from({ length: PRESENT + 3 - newest }, (_, ahead) => newest + ahead)),
    "rest",
  ];

  beforeAll(async () => {
    await admin`drop table ${admin(partition(PRESENT + 7))}`;
    for (let month = OLDEST; month < PRESENT; month++) await makeMonth(admin, "audit_logs", month);
    for (let month = OLDEST; month <= PRESENT; month++) {
      for (const day of [5, 6, 7]) {
        ids.unshift(await audited(own, startOf(month) + day * DAY, "login"));
        await audited(rival, startOf(month) + day * DAY);
      }
    }
  });

  test("stops early when it begins with the newest rows", async () => {
    const { read, ids: found } = await reading("");
    expect(found).toEqual(ids.slice(0, 5));
    expect(read).toHaveLength(1);
    expect(read[0]).toEqual(FEW);
  });

  test("looks further when the newest months have too few, and misses none", async () => {
    const { read, ids: found } = await reading("action=eq.login", 40);
    expect(found).toEqual(ids.slice(0, 40));
    expect(read).toHaveLength(2);
  });

  test("of a time of creation reads the months of that time", async () => {
    const from = new Date(startOf(PRESENT - 10)).toISOString();
    const to = new Date(startOf(PRESENT - 8)).toISOString();
    const expected = ids.slice(24 + 3, 24 + 3 + 6);
    for (const query of [
      `created_at=gte.${from}&created_at=lt.${to}`,
      `created_at=gte.${from}&created_at=lt.${to}&order=created_at`,
      `created_at.gte=${from}&created_at.lt=${to}&action=eq.login&cursor=`,
    ]) {
      const { read, ids: found } = await reading(query, 50);
      expect(found.toSorted(), query).toEqual(expected.toSorted());
      for (const one of read) {
        expect(one.length, query).toBeLessThanOrEqual(4);
        expect(one, query).not.toContain("rest");
      }
    }
  });

  test("page by page gives every row once, and each page reads few months", async () => {
    const found: string[] = [];
    let cursor: string | undefined = "";
    while (cursor !== undefined) {
      const { page, ids: some, read } = await reading(`cursor=${encodeURIComponent(cursor)}`, 3);
      found.push(...some);
      cursor = page.nextCursor;
      if (cursor !== undefined) expect(read[0]!.length).toBeLessThanOrEqual(FEW.length);
    }
    expect(found).toEqual(ids);
  });

  test("finds one record in its month alone", async () => {
    const read: string[][] = [];
    const looking = lookingAt(read);
    expect(JSON.parse((await looking.get(own, readable, ids[30]!))!).id).toBe(ids[30]);
    expect(read).toEqual([names(PRESENT - 10)]);
    expect(await looking.get(rival, readable, ids[30]!)).toBeNull();
    expect(await looking.get(own, readable, randomUUID())).toBeNull();
  });
});
