import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { connect, type Database } from "#db/database.ts";
import { inlined, sql } from "#db/sql.ts";
import type { ExportSource, ExportStream } from "#db/stream/export.ts";
import { testDatabase } from "../../support/database.ts";

const PROPERTY = "01900000-0000-7000-8000-00000000000a";
const RIVAL = "01900000-0000-7000-8000-00000000000b";
const THIRD = "01900000-0000-7000-8000-00000000000c";
const ROWS = 5_000;
const PATIENT = { stall: 60_000, whole: 300_000 };

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
let db: Database;
const opened: Database[] = [];

beforeAll(async () => {
  for (const [index, id] of [PROPERTY, RIVAL].entries()) {
    await admin`insert into properties (id, name, slug) values (${id}, 'P', ${`p${index}`})`;
    await admin`
      insert into players (property_id, player_id, first_name)
      select ${id}, ${index} || '-' || n, repeat('x', 500) from generate_series(1, ${ROWS}::int) n returning 1`;
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
function open(exportLimits = PATIENT): Database & { application: string } {
  const application = `export-${++named}`;
  const made = connect(database.url, { size: 2, application, exportLimits });
  opened.push(made);
  return Object.assign(made, { application });
}

const players: ExportSource = (copy) =>
  copy(sql`select player_id, first_name from players where property_id = ${PROPERTY}::uuid`);
const endless: ExportSource = (copy) => copy(sql`select pg_sleep(60)`);
/** More bytes than all buffers on the way hold. */
const large: ExportSource = (copy) => copy(sql`select repeat('y', 1000) from generate_series(1, 200000)`);

async function read(stream: ExportStream): Promise<string> {
  const pieces: Buffer[] = [];
  for (let piece = await stream.next(); piece; piece = await stream.next()) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** A clock of the test's own for exports that stand still: a busy machine passes no time on it. */
function ownClock() {
  const timers: { at: number; ring(): void; refresh(): void }[] = [];
  let now = 0;
  const set = globalThis.setTimeout;
  const ours = (ring: (...given: unknown[]) => void, after: number, ...given: unknown[]) => {
    if (after !== PATIENT.stall) return set(ring, after, ...given);
    const refresh = () => {
      timer.at = now + after;
    };
    const timer = { at: now + after, ring: () => ring(...given), refresh };
    timers.push(timer);
    return timer;
  };
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(ours as typeof setTimeout);
  onTestFinished(() => spy.mockRestore());
  return {
    passes: (milliseconds: number) => {
      now += milliseconds;
      for (const { at, ring } of timers) if (at <= now) ring();
    },
  };
}

const exporting = async (from: Database, source: ExportSource) =>
  (await from.exportSlot(PROPERTY)).start(source);
const working = async () =>
  (
    await admin`select from pg_stat_activity where datname = current_database() and state <> 'idle'
    and application_name like 'export-%'`
  ).length;

test("an export gives every row of the tenant, and none of another's", async () => {
  const lines = (await read(await exporting(db, players))).trim().split("\n");
  expect(lines).toHaveLength(ROWS);
  expect(lines.every((line) => line.startsWith("0-"))).toBe(true);
  const all: ExportSource = (copy) => copy(sql`select distinct property_id from players`);
  expect(await read(await exporting(db, all))).toBe(`${PROPERTY}\n`);
});

test("a slot is used again and again, and other work goes on beside it", async () => {
  for (let turn = 0; turn < 3; turn++) {
    const stream = await exporting(db, players);
    expect(await stream.next()).not.toBeNull();
    const [row] = await db.asSystem((sql) => sql<{ one: number }[]>`select 1 as one`);
    expect(row?.one).toBe(1);
    expect((await read(stream)).endsWith("\n")).toBe(true);
    expect(await stream.next()).toBeNull();
  }
  expect(await working()).toBe(0);
});

test("all of an export is one moment, also beside writers", async () => {
  const count = sql`select count(*) from players`;
  const stream = await exporting(db, async function* (copy) {
    yield* copy(count);
    await admin`insert into players (property_id, player_id) values (${PROPERTY}, 'late')`;
    yield* copy(count);
  });
  expect(await read(stream)).toBe(`${ROWS}\n${ROWS}\n`);
  await admin`delete from players where player_id = 'late'`;
});

test("an export cannot write", async () => {
  const stream = await exporting(db, async function* (copy) {
    yield* copy(sql`delete from players where property_id = ${PROPERTY}::uuid returning 1`);
  });
  await expect(read(stream)).rejects.toThrow(/read-only/);
});

test("a receiver who goes away stops the query, whether it has rows to give or not", async () => {
  for (const source of [endless, large]) {
    const stream = await exporting(db, source);
    const first = stream.next().catch(() => null);
    if (source === large) await first;
    await vi.waitFor(async () => expect(await working()).toBe(1), 30_000);
    await stream.cancel();
    await stream.cancel();
    await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
    await expect(stream.next()).rejects.toThrow();
    await first;
  }
  expect((await read(await exporting(db, players))).length).toBeGreaterThan(500 * ROWS);
});

test("a receiver who takes nothing for long is cut off, and one who is slow is not", async () => {
  const clock = ownClock();
  const gone = await exporting(db, large);
  await gone.next();
  const slow = await exporting(db, large);
  for (let pieces = 0; pieces < 4; pieces++) {
    expect(await slow.next()).not.toBeNull();
    clock.passes(0.4 * PATIENT.stall);
  }
  await expect(gone.next()).rejects.toThrow(/stood still/);
  expect(await slow.next()).not.toBeNull();
  await slow.cancel();
  await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
});

test("an export that takes too long as a whole is cut off", async () => {
  const stream = await exporting(open({ ...PATIENT, whole: 150 }), endless);
  await expect(stream.next()).rejects.toThrow(/too long/);
  await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
});

test("an export is cut off when the database says nothing more", async () => {
  const stream = await exporting(open({ ...PATIENT, stall: 150 }), async function* (copy) {
    yield* copy(sql`select pg_sleep(60)`);
    yield Buffer.from("too late");
  });
  await expect(stream.next()).rejects.toThrow(/stood still/);
  await vi.waitFor(async () => expect(await working()).toBe(0), 30_000);
});

test("one property never holds all slots, and others do not wait behind it", async () => {
  const first = await db.exportSlot(PROPERTY);
  const second = await db.exportSlot(PROPERTY);
  let entered = false;
  const third = db.exportSlot(PROPERTY).then((slot) => {
    entered = true;
    return slot;
  });
  const others = await Promise.all([db.exportSlot(RIVAL), db.exportSlot(THIRD)]);
  expect(entered).toBe(false);
  for (const slot of [first, second, ...others]) slot.release();
  (await third).release();
});

test("slow receivers cost others nothing: requests go on, and one that stands still gives up its slot", async () => {
  const clock = ownClock();
  const still = [];
  for (const property of [RIVAL, RIVAL, THIRD]) {
    const stream = (await db.exportSlot(property)).start(large);
    await stream.next();
    still.push(stream);
  }
  const slow = (await db.exportSlot(THIRD)).start(large);
  for (let pieces = 0; pieces < 9; pieces++) {
    expect(await slow.next()).not.toBeNull();
    const [row] = await db.asSystem((sql) => sql<[{ one: number }]>`select 1 as one`);
    expect(row.one).toBe(1);
    clock.passes(0.1 * PATIENT.stall);
  }
  let isEntered = false;
  const entering = db.exportSlot(PROPERTY).finally(() => {
    isEntered = true;
  });
  expect(await slow.next()).not.toBeNull();
  expect(isEntered).toBe(false);
  clock.passes(0.1 * PATIENT.stall);
  expect((await read((await entering).start(players))).length).toBeGreaterThan(500 * ROWS);
  for (const stream of still) await expect(stream.next()).rejects.toThrow(/stood still/);
  expect(await slow.next()).not.toBeNull();
  await slow.cancel();
});

test("an export that is never asked for anything ends as one that stands still", async () => {
  const clock = ownClock();
  const stream = await exporting(db, large);
  clock.passes(PATIENT.stall);
  await expect(stream.next()).rejects.toThrow(/stood still/);
});

test("an export that nobody reads holds no more than a few pieces in memory", async () => {
  const stream = await exporting(db, large);
  await stream.next();
  const waiting = () => admin`
    select from pg_stat_activity where datname = current_database() and wait_event = 'ClientWrite'`;
  await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), 20_000);
  await stream.cancel();
});

test("a refusal of the database is thrown, and the next export works", async () => {
  for (const source of [
    ((copy) => copy(sql`select 1 / 0`)) as ExportSource,
    ((copy) => copy(sql`select 1 / (2 - n) from generate_series(1, 900) n`)) as ExportSource,
    ((copy) => copy(sql`select 1 / (50000 - n) from generate_series(1, 90000) n`)) as ExportSource,
  ]) {
    await expect(read(await exporting(db, source))).rejects.toMatchObject({ code: "22012" });
    expect((await read(await exporting(db, players))).length).toBeGreaterThan(500 * ROWS);
  }
});

test("a connection that is lost in the middle is an error, not an early end", async () => {
  const stream = await exporting(db, large);
  await stream.next();
  await admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and state = 'active' and query like 'copy%'`;
  await expect(read(stream)).rejects.toThrow();
  expect((await read(await exporting(db, players))).length).toBeGreaterThan(500 * ROWS);
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
    const [row] = await admin.unsafe(inlined(sql`select ${text}::text as text`));
    expect(row?.text).toBe(text);
  }
});
