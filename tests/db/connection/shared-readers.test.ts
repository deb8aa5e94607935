import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { DeadlineExceeded } from "#db/connection/open.ts";
import { connect, type Database } from "#db/database.ts";
import { raw, sql } from "#db/sql.ts";
import { testDatabase } from "../../support/database.ts";

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
const opened: Database[] = [];
let db: Database;
let application = "";

beforeEach(() => {
  application = `shared-${opened.length}`;
  db = connect(database.url, { size: 2, application });
  opened.push(db);
});
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()));
  await admin.end();
  await database.drop();
});

const SHORT = { short: true };
const short = async (value: number, from = db): Promise<string> =>
  String((await from.read(sql`select ${value}::int`, SHORT))[0]![0]);
const sleepy = (value: number, seconds: number) =>
  sql`select ${value}::int, pg_sleep(${raw(String(seconds))})::text`;
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
const backends = async () =>
  (await admin`select pid from pg_stat_activity where application_name = ${application}`).map(
    ({ pid }) => pid,
  );

test("short reads are many on few connections, and each has its own answer", async () => {
  const answers = await Promise.all(numbers(300).map((value) => short(value)));
  expect(answers).toEqual(numbers(300).map(String));
  expect((await backends()).length).toBeLessThanOrEqual(3);
});

test("a read that is not as short as was thought is answered too, and does not hold the others up", async () => {
  await Promise.all([short(1), short(2)]);
  const done: string[] = [];
  const slow = db.read(sleepy(7, 0.7), SHORT).then(([row]) => {
    done.push(`slow ${row![0]}`);
  });
  await Promise.all(numbers(50).map(async (value) => done.push(await short(value))));
  await slow;
  expect(done.at(-1)).toBe("slow 7");
  expect(done).toHaveLength(51);
  // By now it is known, and goes to a connection of its own at once: nothing is stopped.
  const [row] = await db.read(sleepy(7, 0.3), SHORT);
  expect(String(row![0])).toBe("7");
});

test("a statement's own fault is the caller's, and leaves the others alone", async () => {
  const faulty = sql`select n, 1 / (30 - n) from generate_series(1, ${100}::int) n`;
  for (const options of [{}, SHORT]) {
    const [first, failed, last] = await Promise.allSettled([short(1), db.read(faulty, options), short(2)]);
    expect([first, last]).toMatchObject([{ value: "1" }, { value: "2" }]);
    expect(failed).toMatchObject({ reason: { code: "22012" } });
    const rows = await db.read(sql`select n from generate_series(1, ${40}::int) n`, options);
    expect(rows.map(([n]) => String(n))).toEqual(numbers(40).map((n) => String(n + 1)));
  }
});

test("a connection that is lost under short reads loses none of them", async () => {
  await short(0);
  const reads = numbers(20).map((value) => db.read(sleepy(value, 0.01), SHORT));
  const ending = backends().then(
    (pids) => admin`select pg_terminate_backend(pid) from unnest(${pids}::int[]) pid`,
  );
  const answers = await Promise.all(reads);
  await ending;
  expect(answers.map(([row]) => String(row![0]))).toEqual(numbers(20).map(String));
  expect(await short(9)).toBe("9");
});

test("a short read of a database that says nothing is refused at its deadline, and the next has a new connection", async () => {
  const line = await proxy();
  const url = new URL(database.url);
  url.port = String(line.port);
  const through = connect(url.href, { size: 2 });
  opened.push(through);
  expect(await short(1, through)).toBe("1");
  line.hold();
  const refused = await Promise.allSettled([
    through.read(sql`select ${2}::int`, { short: true, deadline: 300 }),
    through.read(sql`select ${3}::int`, { short: true, deadline: 300 }),
  ]);
  for (const one of refused) expect(one).toMatchObject({ reason: expect.any(DeadlineExceeded) });
  line.carry();
  await vi.waitFor(async () => expect(await short(4, through)).toBe("4"), 20_000);
  line.close();
});

test("an answer in pieces is read whole, however large it is", async () => {
  const line = await proxy(3);
  const url = new URL(database.url);
  url.port = String(line.port);
  const through = connect(url.href, { size: 2 });
  opened.push(through);
  const sizes = [1, 10, 5_000];
  const answers = await Promise.all(
    sizes.map((size) => through.read(sql`select ${size}::int, repeat('é', ${size}::int)`, SHORT)),
  );
  expect(answers).toEqual(sizes.map((size) => [[size, "é".repeat(size)]]));
  for (const size of [1_000_000, 130_000, 10]) {
    const [row] = await db.read(sql`select repeat('é', ${size}::int)`, SHORT);
    expect(row![0]).toBe("é".repeat(size));
  }
  line.close();
});

/** A way to the database that can fall silent, and that can hand on a few bytes at a time. */
async function proxy(piece = Number.POSITIVE_INFINITY) {
  const { hostname, port } = new URL(database.url);
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      to.setNoDelay();
      from.on("data", async (bytes) => {
        from.pause();
        for (let at = 0; at < bytes.length && !silent; at += piece) {
          to.write(bytes.subarray(at, at + piece));
          if (piece < bytes.length) await nextTurn();
        }
        from.resume();
      });
      from.on("error", () => {});
      from.on("close", () => to.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    hold: () => {
      silent = true;
    },
    carry: () => {
      silent = false;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
