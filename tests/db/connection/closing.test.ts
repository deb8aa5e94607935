import { execFile } from "node:child_process";
import { type AddressInfo, createServer, connect as dial } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { afterAll, expect, test } from "vitest";
import { openClient } from "#db/connection/open.ts";
import { connect } from "#db/database.ts";
import { sql } from "#db/sql.ts";
import { testDatabase } from "../../support/database.ts";

const database = await testDatabase();
const admin = postgres(database.url, { max: 1, onnotice: () => {} });
const DATABASE = fileURLToPath(new URL("../../../db/database.ts", import.meta.url));

afterAll(async () => {
  await admin.end();
  await database.drop();
});

test("a transaction that runs, and one that waits for its connection, are committed before the pool closes", async () => {
  await admin`create table closed (name text)`;
  await admin`grant insert on closed to app_system`;
  const db = connect(database.url, { size: 1 });
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const running = db.asSystem(async (tag) => {
    await tag`insert into closed values ('first')`;
    begun.resolve();
    await go.promise;
    await tag`insert into closed values ('second')`;
  });
  await begun.promise;
  const waiting = db.asSystem((tag) => tag`insert into closed values ('third')`);
  await nextTurn();
  const closing = db.close();
  await nextTurn();
  go.resolve();
  await Promise.all([running, waiting, closing]);
  expect((await admin`select name from closed order by name`).map(({ name }) => name)).toEqual([
    "first",
    "second",
    "third",
  ]);
});

test("a closed database refuses every caller at once, and opens no connection for it", async () => {
  const application = "refusing";
  const db = connect(database.url, { size: 1, application });
  await db.asSystem((tag) => tag`select 1`);
  await db.close();
  const lost = { code: "CONNECTION_CLOSED" };
  await expect(db.asSystem((tag) => tag`select 1`)).rejects.toMatchObject(lost);
  await expect(db.read(sql`select 1`, { short: true })).rejects.toMatchObject(lost);
  await expect(db.exportSlot("00000000-0000-7000-8000-000000000000")).rejects.toMatchObject(lost);
  // The server ends a connection that was closed a little later.
  await expect
    .poll(() => admin`select pid from pg_stat_activity where application_name = ${application}`)
    .toHaveLength(0);
});

test("a transaction that does not end is cut, and the pool closes", async () => {
  const db = connect(database.url, { size: 1 });
  const begun = Promise.withResolvers<void>();
  const endless = db.asSystem(
    async (tag) => {
      await tag`select 1`;
      begun.resolve();
      await tag`select pg_sleep(60)`;
    },
    { deadline: Number.POSITIVE_INFINITY },
  );
  const failed = expect(endless).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
  await begun.promise;
  await db.close();
  await failed;
});

test("a program beside a standby ends by itself once its database is closed", async () => {
  const program = `
    const { connect } = await import(${JSON.stringify(DATABASE)});
    const url = ${JSON.stringify(database.url)};
    const db = connect(url, { size: 1, standbyUrl: url });
    await db.asSystem((sql) => sql\`select 1\`);
    await db.close();
    console.log("closed");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  expect(stdout).toBe("closed\n");
});

test("a connection asks nothing of its own, because a failure of that would end the process", async () => {
  let sent = "";
  const { hostname, port } = new URL(database.url);
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    near.on("data", (bytes) => {
      sent += bytes.toString("latin1");
    });
    near.on("error", () => {});
    far.on("error", () => {});
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = new URL(database.url);
  url.port = String((server.address() as AddressInfo).port);
  const client = openClient(url.href, {});
  expect(await client.sql`select array['a', 'b'] as texts`).toEqual([{ texts: ["a", "b"] }]);
  expect(sent).toContain("select array");
  expect(sent).not.toContain("pg_type");
  await client.end();
  server.close();
});
