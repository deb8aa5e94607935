import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer, connect as dial } from "node:net";
import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { DeadlineExceeded, TransactionOverrun } from "#db/connection/open.ts";
import { connect, type Database } from "#db/database.ts";
import { sql } from "#db/sql.ts";
import { testDatabase } from "../support/database.ts";
import { asTheyAre } from "../support/postgres/dying.ts";

const PROPERTY = "01900000-0000-7000-8000-00000000000a";
const RIVAL = "01900000-0000-7000-8000-00000000000b";

/** That one is let in, and that the server is ready: what a connection is told before it is asked anything. */
const GREETING = Buffer.from("5200000008000000005a0000000549", "hex");

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
/** One connection, which all transactions take turns on. */
let db: Database;

beforeAll(async () => {
  for (const [index, id] of [PROPERTY, RIVAL].entries()) {
    await admin`insert into properties (id, name, slug) values (${id}, 'P', ${`p${index}`})`;
  }
  db = connect(database.url, { size: 1, application: "client-test" });
});
beforeEach(() => admin`delete from segments`);
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
      asTheyAre,
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

const stopSleeping = async (pid: number): Promise<boolean> => {
  const [stopped] = await admin<[{ done: boolean }?]>`
    select pg_terminate_backend(pid) as done from pg_stat_activity
    where pid = ${pid} and query like '%pg_sleep%' and state = 'active'`;
  return stopped?.done === true;
};

test("transactions that follow each other on one connection are each their own tenant's", async () => {
  const seen = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const property = index % 3 === 0 ? PROPERTY : RIVAL;
      const fails = index % 7 === 0;
      const work = db.asProperty(property, async (sql, last) => {
        const [row] = await sql<{ property: string; role: string }[]>`
          select current_property() as property, current_user as role`;
        if (fails) last(asTheyAre, sql`select ${0}::int / 0`);
        return { ...row!, property: row!.property === property };
      });
      return work.catch(() => ({ property: fails, role: "app_property" }));
    }),
  );
  expect(new Set(seen.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify({ property: true, role: "app_property" })]),
  );
});

test("statements that the driver still sends after a connection broke are not committed by the next transaction", async () => {
  const [{ pid }] = await db.asSystem((sql) => sql<[{ pid: number }]>`select pg_backend_pid() as pid`);
  const broken = db.asProperty(PROPERTY, async (sql, last) => {
    await sql`select 1`;
    last(asTheyAre, sql`select pg_sleep(30)`);
    // A statement behind one that is new to the connection waits in the driver.
    last(asTheyAre, sql`select ${randomUUID()}::uuid as new_to_the_connection`);
  });
  const behind = db.asProperty(PROPERTY, async (sql) => {
    await sql`insert into segments (property_id, name) values (${PROPERTY}, 'of nobody')`;
    throw new Error("broken off");
  });
  const failures = Promise.allSettled([broken, behind]);
  await expect.poll(() => stopSleeping(pid), { timeout: 5_000 }).toBe(true);
  expect((await failures).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await name(PROPERTY, "next").catch(() => name(PROPERTY, "next"));
  await name(PROPERTY, "next but one");
  expect(await named(PROPERTY)).not.toContain("of nobody");
});

test("a connection that breaks under a commit fails it, and what waits for it has a new one", async () => {
  const [{ pid }] = await db.asSystem((sql) => sql<[{ pid: number }]>`select pg_backend_pid() as pid`);
  const broken = db.asProperty(PROPERTY, async (sql, last) => {
    await sql`select 1`;
    last(asTheyAre, sql`insert into segments (property_id, name) values (${PROPERTY}, 'never')`);
    last(asTheyAre, sql`select pg_sleep(30)`);
  });
  const behind = db.asProperty(PROPERTY, (sql) => sql`select 1`);
  const failures = Promise.allSettled([broken, behind]);
  await expect.poll(() => stopSleeping(pid), { timeout: 5_000 }).toBe(true);
  expect((await failures).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  expect(await named(PROPERTY)).not.toContain("never");
  await name(RIVAL, "after");
  expect(await named(RIVAL)).toEqual(["after", "after last"]);
});

test("each statement that a transaction begins with is a message of its own, in one write with the first query", async () => {
  const writes: string[] = [];
  const { hostname, port } = new URL(database.url);
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    near.on("data", (bytes) => writes.push(bytes.toString("latin1")));
    near.pipe(far).pipe(near);
    near.on("error", () => {});
    far.on("error", () => {});
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = new URL(database.url);
  url.port = String((server.address() as AddressInfo).port);
  const through = connect(url.href, { size: 1 });
  const work = () =>
    through.asProperty(PROPERTY, (sql) => sql`select 4711`, { before: ["set local work_mem = '8MB'"] });
  await work();
  writes.length = 0;
  await work();
  await through.close();
  server.close();
  const opening = writes.find((bytes) => bytes.includes("begin"))!;
  const messages = [...opening.matchAll(/Q[\s\S]{4}([^\0]*)\0/g)].map(([, text]) => text);
  expect(messages).toEqual([
    "begin",
    "set local work_mem = '8MB'",
    "set local role app_property",
    `set local app.property_id = '${PROPERTY}'`,
  ]);
  // The prepared query's Bind is the next message.
  expect(opening.slice(opening.indexOf(PROPERTY))).toMatch(/^[^B]*B/);
});

test("a transaction whose connection is lost is told so at once, during every wait", async () => {
  const lost = db.asSystem(async (sql) => {
    const [{ pid }] = await sql<[{ pid: number }]>`select pg_backend_pid() as pid`;
    await admin`select pg_terminate_backend(${pid}::int)`;
    return new Promise<never>(() => {});
  });
  // And not of the deadline, which has a code of its own.
  await expect(lost).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  await name(RIVAL, "next");
  expect(await named(RIVAL)).toContain("next last");
});

test("a read whose connection is lost fails, and the next one does not", async () => {
  const reading = db.read(sql`select pg_sleep(30)::text`);
  const failed = expect(reading).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  const stop = async () => {
    const ended = await admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'client-test' and query like '%pg_sleep(30)::text%'`;
    return ended.count;
  };
  await expect.poll(stop, { timeout: 5_000 }).toBe(1);
  await failed;
  expect(await db.read(sql`select 4711`)).toEqual([[4711]]);
});

test("a connection that was given up before it was made leaves none behind", async () => {
  const { promise: found, resolve } = Promise.withResolvers<void>();
  let open = 0;
  const server = createServer((socket) => {
    open++;
    socket.on("error", () => {}).on("close", () => open--);
    socket.once("data", () => socket.write(GREETING));
    resolve();
  });
  const listen = (port: number) =>
    new Promise<number>((listening) => {
      server.listen(port, "127.0.0.1", () => listening((server.address() as AddressInfo).port));
    });
  const port = await listen(0);
  await new Promise((closed) => server.close(closed));
  const away = connect(`postgres://nobody@127.0.0.1:${port}/none`, { size: 1 });
  const ask = (deadline: number) => away.asSystem((sql) => sql`select 1`, { deadline });
  // Until the driver takes its time before it tries again.
  for (let turn = 0; turn < 6; turn++)
    await expect(ask(5_000)).rejects.toMatchObject({ code: expect.stringMatching("CONN") });
  await listen(port);
  await expect(ask(1)).rejects.toSatisfy(
    (error) => error instanceof DeadlineExceeded && !(error instanceof TransactionOverrun),
  );
  const asking = ask(2_000).catch(() => {});
  await found;
  await asking;
  await away.close();
  await expect.poll(() => open).toBe(0);
  await new Promise((closed) => server.close(closed));
});

test("a query that nobody waits for any more is ended by the server", async () => {
  const work = db.asProperty(PROPERTY, (sql) => sql`select pg_sleep(60)`, { deadline: 100 });
  await expect(work).rejects.toBeInstanceOf(TransactionOverrun);
  const running = async () =>
    (
      await admin`
        select from pg_stat_activity
        where datname = current_database() and query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()`
    ).count;
  await expect.poll(running).toBe(0);
});
