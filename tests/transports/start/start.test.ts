import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { startEmbedded } from "#db/embedded/start.ts";
import { ConfigError, readConfig } from "#runtime/config.ts";
import { databaseError, errorText, folderError } from "#transports/start/report.ts";
import { testDatabase } from "../../support/database.ts";
import { lockWaits } from "../../support/postgres/blocking.ts";
import { startService } from "../../support/service.ts";
import { command, failingStart, MAIN } from "./programs.ts";

const MIGRATE = fileURLToPath(new URL("../../../transports/migrate.ts", import.meta.url));
/** Of `migrate`. */
const MIGRATION_LOCK = 7_305_133;
const SECRET = { APP_SECRET: "s".repeat(32) };

function failureOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return errorText(error);
  }
  throw new Error("it has not failed");
}

test("half a service on an embedded database is refused", () => {
  for (const ROLE of ["web", "worker"]) {
    const said = failureOf(() => readConfig({ ROLE }));
    expect(said).toMatch(/^ROLE: .+ Set DATABASE_URL, or leave ROLE out\.\n?$/);
  }
});

test("a worker says that it works, and a later start with another APP_SECRET is refused in one line, as is a command", async () => {
  const database = await testDatabase();
  onTestFinished(database.drop);
  const worker = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, ROLE: "worker", ...SECRET },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  worker.stderr.on("data", (chunk) => (said += chunk));
  await vi.waitFor(() => expect(said).toMatch(/works on jobs[\s\S]+\n\n$/), 60_000);
  expect(said).not.toMatch(/listens|http|npm run/);
  worker.kill("SIGTERM");
  expect((await once(worker, "close"))[0]).toBe(0);
  expect(said).toMatch(/\nStopped\.\n$/);

  const given = { DATABASE_URL: database.url, APP_SECRET: "another".repeat(5) };
  const line = expect.stringMatching(/^APP_SECRET: not the one that this database was used with\.[^\n]+\n?$/);
  const start = startService({ appSecret: given.APP_SECRET }, { database });
  expect(errorText(await start.catch((error) => error))).toEqual(line);
  const listed = ["list-properties"];
  expect(await command(listed, given)).toEqual({ code: 2, said: line, printed: "" });
  expect(await command(listed, { ...given, ...SECRET })).toMatchObject({ code: 0, said: "" });
});

test("a start whose port is taken says so, and gives up what it has begun", async () => {
  const database = await testDatabase();
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  try {
    const port = String((other.address() as AddressInfo).port);
    for (const [name, others] of [
      ["PORT", {}],
      ["METRICS_PORT", { ROLE: "worker" }],
    ] as const) {
      const environment = { DATABASE_URL: database.url, ...SECRET, ...others, [name]: port };
      expect(await failingStart(environment)).toEqual({
        code: 1,
        said: `${name}: ${port} is in use on 127.0.0.1. Choose another one, or stop what uses it.\n`,
      });
    }
  } finally {
    other.close();
    await database.drop();
  }
});

test("a start that fails, and cannot stop what it had begun, says both", () => {
  const error = new SuppressedError(new Error("it does not stop"), new ConfigError("PORT: is in use."));
  expect(errorText(error)).toMatch(/^PORT: is in use\.\nError: it does not stop\n {4}at /);
});

test("a port that is taken after all is not told as a fault of the database", () => {
  const error = Object.assign(new Error("listen EADDRINUSE"), { code: "EADDRINUSE", syscall: "listen" });
  expect(databaseError(error)).toBe(error);
});

test("a data folder that cannot be one is named in one line", async () => {
  const file = join(tmpdir(), `start-${randomUUID()}`);
  await writeFile(file, "not a folder");
  onTestFinished(() => rm(file));
  const sentence = /^DATA_DIR: \S+ cannot be used \(.+\)\.\n?$/;
  for (const dataDir of [file, join(file, "beneath"), "/proc/x"]) {
    const error = await startEmbedded({ dataDir }).catch((refusal) => folderError(dataDir, refusal));
    expect(errorText(error)).toMatch(sentence);
    expect(errorText(error)).toContain(`${dataDir} `);
  }
  const { code, said } = await failingStart({ DATA_DIR: file, PORT: "0" });
  expect([code, said]).toEqual([1, expect.stringMatching(sentence)]);
});

test("a full disk is reported in one line, also where the server could not write its reason", () => {
  const silent = new Error("PostgreSQL did not start: exit code 1.\n");
  // Its file system has no room.
  expect(errorText(folderError("/proc", silent))).toMatch(/^DATA_DIR: \/proc has no space left\. [^\n]+$/);
  expect(folderError(tmpdir(), silent)).toBe(silent);
  const loud = new Error("PostgreSQL did not start: exit code 1.\nFATAL:  No space left on device");
  expect(errorText(folderError(tmpdir(), loud))).toMatch(/has no space left/);
});

test("an address of a database that cannot be one is reported in one line, without the password, by migrate too", async () => {
  const urls = ["postgres://u:p%zz@127.0.0.1:1/x", "postgres://u:p#pass@127.0.0.1/x", "127.0.0.1:5432"];
  for (const DATABASE_URL of urls) {
    // Both programs read their settings by it.
    const said = failureOf(() => readConfig({ DATABASE_URL, ...SECRET }));
    expect(said).toMatch(/^DATABASE_URL: [^\n]*postgres:\/\/user:password@[^\n]*$/);
    expect(said).not.toMatch(/p%zz|pass@/);
  }
  for (const main of [MAIN, MIGRATE]) {
    const away = { DATABASE_URL: "postgres://u:secret@127.0.0.1:1/x", ...SECRET };
    const { said } = await failingStart({ ...away, PORT: "0" }, main);
    expect(said).toMatch(/^DATABASE_URL: the database cannot be used \(ECONNREFUSED: [^\n]+\)\.\n$/);
  }
});

test("a database of another unreleased state is refused in one line", async () => {
  const database = await testDatabase();
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  await admin`insert into migrations (name, checksum) values ('0001_house.sql', 'x')`;
  await admin.end();
  try {
    const { code, said } = await failingStart({ DATABASE_URL: database.url, PORT: "0", ...SECRET });
    expect([code, said.split("\n")], said).toEqual([
      1,
      [expect.stringMatching(/0001_house\.sql.*must be made anew.*export-players/), ""],
    ]);
  } finally {
    await database.drop();
  }
});

test("a database whose user may make no roles is named in one line, with what the user needs", async () => {
  const database = await testDatabase();
  const name = `guest_${randomUUID().replaceAll("-", "")}`;
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  await admin.unsafe(`create role ${name} login password 'guest'; drop table migrations`);
  await admin.unsafe(`grant create on schema public to ${name}`);
  try {
    const url = Object.assign(new URL(database.url), { username: name, password: "guest" });
    const { code, said } = await failingStart({ DATABASE_URL: url.href, PORT: "0", ...SECRET });
    expect(code).toBe(1);
    expect(said).toMatch(/^DATABASE_URL: its user must own the database and have CREATEROLE \(.+\)\.\n$/);
  } finally {
    await admin.unsafe(`drop owned by ${name}; drop role ${name}`);
    await admin.end();
    await database.drop();
  }
});

test("settings that are no numbers are reported in one line each, and nothing is left behind", async () => {
  const DATA_DIR = join(tmpdir(), `start-${randomUUID()}`);
  const { code, said } = await failingStart({
    DATA_DIR,
    PORT: "abc",
    DATABASE_POOL: "1",
    TRUST_PROXY: "1.5",
  });
  expect(existsSync(DATA_DIR)).toBe(false);
  expect({ code, said }).toEqual({
    code: 1,
    said: [
      'PORT (it is "abc"): must be a whole number from 0 to 65535',
      'TRUST_PROXY (it is "1.5"): must be a whole number from 0 to 10',
      'DATABASE_POOL (it is "1"): must be a whole number from 2 to 100\n',
    ].join("\n"),
  });
});

test("a signal to npm stops the service, though the shell between them does not pass it on", async () => {
  const database = await testDatabase();
  // It waits for another's migration, and has read few modules.
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  await admin`select pg_advisory_lock(${MIGRATION_LOCK})`;
  // As npm runs a script: a shell of its own, which waits for the service.
  const shell = spawn("/bin/sh", ["-c", `"${process.execPath}" "${MAIN}" & echo $!; wait; true`], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      PORT: "0",
      npm_lifecycle_event: "start",
      ...SECRET,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  let pid = "";
  shell.stderr.on("data", (chunk) => (said += chunk));
  shell.stdout.on("data", (chunk) => (pid += chunk));
  await lockWaits(admin, 1, 60_000);
  shell.kill("SIGTERM");
  await vi.waitFor(() => expect(said).toBe("Stopped.\n"), 60_000);
  await vi.waitFor(() => expect(() => process.kill(Number(pid), 0)).toThrow(), 60_000);
  await admin.end();
  await database.drop();
});
