import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { connect, type Database } from "#db/client.ts";
import type { Flow, Source } from "#db/flow.ts";
import { literal } from "#db/flow.ts";
import { testDatabase } from "../support/database.ts";

const PROPERTY = "01900000-0000-7000-8000-00000000000a";
const RIVAL = "01900000-0000-7000-8000-00000000000b";
const THIRD = "01900000-0000-7000-8000-00000000000c";
const PATIENT = { stall: 60_000, silence: 60_000, whole: 60_000, lag: 60_000 };

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
let db: Database;
const opened: Database[] = [];

beforeAll(async () => {
  for (const [index, id] of [PROPERTY, RIVAL].entries()) {
    await admin`insert into properties (id, name, slug) values (${id}, 'P', ${`p${index}`})`;
    await admin`
      insert into players (property_id, player_id, first_name)
      select ${id}, ${index} || '-' || n, repeat('x', 500) from generate_series(1, 20000) n`;
  }
});
beforeEach(() => {
  db = open();
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await admin.end();
  await database.drop();
});

let named = 0;
function open(flowLimits = PATIENT): Database & { application: string } {
  const application = `flow-${++named}`;
  const made = connect(database.url, { size: 2, application, flowLimits });
  opened.push(made);
  return Object.assign(made, { application });
}

const players: Source = (_, copy) =>
  copy(`select player_id, first_name from players where property_id = ${literal(PROPERTY)}::uuid`);
const endless: Source = (_, copy) => copy("select pg_sleep(60)");
/** More bytes than all buffers on the way hold. */
const large: Source = (_, copy) => copy("select repeat('y', 1000) from generate_series(1, 200000)");

async function read(flow: Flow): Promise<string> {
  const pieces: Buffer[] = [];
  for (let piece = await flow.next(); piece; piece = await flow.next()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

const flowing = async (from: Database, source: Source) => (await from.lane(PROPERTY)).start(source);
const working = async () =>
  (
    await admin`select from pg_stat_activity where datname = current_database() and state <> 'idle'
    and application_name like 'flow-%'`
  ).length;

test("a flow gives every row of the tenant, and none of another's", async () => {
  const lines = (await read(await flowing(db, players))).trim().split("\n");
  expect(lines).toHaveLength(20_000);
  expect(lines.every((line) => line.startsWith("0-"))).toBe(true);
  const all: Source = (_, copy) => copy("select distinct property_id from players");
  expect(await read(await flowing(db, all))).toBe(`${PROPERTY}\n`);
});

test("a lane is used again and again, and other work goes on beside it", async () => {
  for (let turn = 0; turn < 6; turn++) {
    const flow = await flowing(db, players);
    expect(await flow.next()).not.toBeNull();
    const [row] = await db.asSystem((sql) => sql<{ one: number }[]>`select 1 as one`);
    expect(row?.one).toBe(1);
    expect((await read(flow)).endsWith("\n")).toBe(true);
    expect(await flow.next()).toBeNull();
  }
  expect(await working()).toBe(0);
});

test("all of a flow is one moment, whatever is written meanwhile", async () => {
  const count = "select count(*) from players";
  const flow = await flowing(db, async function* (_, copy) {
    yield* copy(count);
    await admin`insert into players (property_id, player_id) values (${PROPERTY}, 'late')`;
    yield* copy(count);
  });
  expect(await read(flow)).toBe("20000\n20000\n");
  await admin`delete from players where player_id = 'late'`;
});

test("a flow cannot write", async () => {
  const flow = await flowing(db, async function* (sql) {
    await sql`delete from players where property_id = ${PROPERTY}`;
    yield Buffer.alloc(0);
  });
  await expect(read(flow)).rejects.toThrow(/read-only/);
});

test("a receiver who goes away stops the query, whether it has rows to give or not", async () => {
  for (const source of [endless, large]) {
    const flow = await flowing(db, source);
    const first = flow.next().catch(() => null);
    if (source === large) await first;
    await vi.waitFor(async () => expect(await working()).toBe(1), 30_000);
    await flow.cancel();
    await flow.cancel();
    await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
    await expect(flow.next()).rejects.toThrow();
    await first;
  }
  expect((await read(await flowing(db, players))).length).toBeGreaterThan(10_000_000);
});

test("a receiver who takes nothing for long is cut off, and one who is slow is not", async () => {
  const impatient = open({ ...PATIENT, stall: 150 });
  const gone = await flowing(impatient, large);
  await gone.next();
  await vi.waitFor(async () => expect(await working()).toBe(0), 5_000);
  await expect(gone.next()).rejects.toThrow(/nobody takes/);
  const slow = await flowing(impatient, players);
  let bytes = 0;
  let pause = 3;
  for (let piece = await slow.next(); piece; piece = await slow.next()) {
    bytes += piece.length;
    if (pause-- > 0) await admin`select pg_sleep(0.06)`;
  }
  expect(bytes).toBeGreaterThan(10_000_000);
});

test("a flow that takes too long as a whole is cut off", async () => {
  const flow = await flowing(open({ ...PATIENT, whole: 150 }), endless);
  await expect(flow.next()).rejects.toThrow(/too long/);
  await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
});

test("a flow is cut off when the database says nothing more", async () => {
  const flow = await flowing(open({ ...PATIENT, silence: 150 }), async function* (sql) {
    await sql`select pg_sleep(60)`;
    yield Buffer.from("too late");
  });
  await expect(flow.next()).rejects.toThrow(/says nothing/);
  await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
});

test("one property never holds all lanes, and what it waits for is not waited for by others", async () => {
  const first = await db.lane(PROPERTY);
  const second = await db.lane(PROPERTY);
  let entered = false;
  const third = db.lane(PROPERTY).then((lane) => {
    entered = true;
    return lane;
  });
  const others = await Promise.all([db.lane(RIVAL), db.lane(THIRD)]);
  expect(entered).toBe(false);
  for (const lane of [first, second, ...others]) lane.release();
  (await third).release();
});

test("who reads slowly gives way to whoever waits, and who reads is left alone", async () => {
  const crowded = open({ ...PATIENT, lag: 300 });
  const slow = [];
  for (const property of [RIVAL, RIVAL, THIRD]) {
    const flow = (await crowded.lane(property)).start(large);
    await flow.next();
    slow.push(flow);
  }
  const busy = (await crowded.lane(THIRD)).start(endless);
  const reading = busy.next().catch((error: unknown) => error);
  const lane = await crowded.lane(PROPERTY);
  const cut = (await Promise.allSettled(slow.map((flow) => flow.next()))).filter(
    ({ status }) => status === "rejected",
  );
  expect(cut).toHaveLength(1);
  expect(await Promise.race([reading, Promise.resolve("reads")])).toBe("reads");
  expect((await read(lane.start(players))).length).toBeGreaterThan(10_000_000);
  await Promise.all([...slow, busy].map((flow) => flow.cancel()));
  await reading;
});

test("a flow that is never asked for anything ends as one that is not read on", async () => {
  const flow = await flowing(open({ ...PATIENT, stall: 150 }), large);
  await vi.waitFor(() => expect(flow.lag()).toBe(0), 5_000);
  await expect(flow.next()).rejects.toThrow(/nobody takes/);
});

test("a flow that nobody reads holds no more than a few pieces in memory", async () => {
  const flow = await flowing(db, large);
  await flow.next();
  const waiting = () => admin`
    select from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite'`;
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), 5_000);
  await flow.cancel();
});

test("what the database refuses is thrown, and the next flow works", async () => {
  for (const source of [
    ((_, copy) => copy("select 1 / 0")) as Source,
    ((_, copy) => copy("select 1 / (2 - n) from generate_series(1, 9000) n")) as Source,
    ((_, copy) => copy("select 1 / (500000 - n) from generate_series(1, 900000) n")) as Source,
  ]) {
    await expect(read(await flowing(db, source))).rejects.toMatchObject({ code: "22012" });
    expect((await read(await flowing(db, players))).length).toBeGreaterThan(10_000_000);
  }
});

test("a connection that is lost in the middle is an error, not an early end", async () => {
  const flow = await flowing(db, large);
  await flow.next();
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query like 'copy%'`;
  await expect(read(flow)).rejects.toThrow();
  expect((await read(await flowing(db, players))).length).toBeGreaterThan(10_000_000);
});

test("a value stands in a literal as it is", async () => {
  for (const text of [
    "'; drop table players; --",
    "a\\'b",
    "\\",
    "''",
    "$1",
    "日本",
    "line\nbreak",
    "E'x'",
  ]) {
    const [row] = await admin.unsafe(`select ${literal(text)}::text as text`);
    expect(row?.text).toBe(text);
  }
});
