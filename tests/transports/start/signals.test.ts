import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { testDatabase } from "../../support/database.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";

const MAIN = fileURLToPath(new URL("../../../transports/main.ts", import.meta.url));
const STORED_DATABASE = new URL("../../../transports/start/stored-database.ts", import.meta.url).href;
const OPEN = new URL("../../../db/connection/open.ts", import.meta.url).href;
const CONFIG = new URL("../../../runtime/config.ts", import.meta.url).href;
/** Of `migrate`. */
const MIGRATION_LOCK = 7_305_133;

interface Program {
  child: ChildProcess;
  said(): string;
  ended: Promise<unknown[]>;
}

function run(words: string[], environment: Record<string, string>): Program {
  const child = spawn(process.execPath, words, {
    env: { PATH: process.env.PATH, PORT: "0", DEMO: "off", LOG_LEVEL: "error", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
  return { child, said: () => said, ended: once(child, "close") };
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signals-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const filesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

// No part that a ROLE leaves out has begun by then.
test("a start that waits for another's migration ends in order at the first signal, and hears the second", async () => {
  const database = await testDatabase();
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  await admin`select pg_advisory_lock(${MIGRATION_LOCK})`;
  const environment = { DATABASE_URL: database.url, APP_SECRET: "s".repeat(32) };
  const { child, said, ended } = run([MAIN], environment);
  await lockWaits(admin, 1, 60_000);
  child.kill("SIGTERM");
  child.kill("SIGINT");
  expect(await ended).toEqual([0, null]);
  expect(said()).toBe("Stopped.\n");
  await admin.end();
  await database.drop();
});

test("a service stops within ten seconds while the database holds locks", async () => {
  const database = await testDatabase();
  const admin = postgres(database.url, { max: 3, onnotice: () => {} });
  const environment = { DATABASE_URL: database.url, APP_SECRET: "s".repeat(32) };
  const { child, said, ended } = run([MAIN], environment);
  const address = () => /http:\/\/[\d.]+:\d+/.exec(said())?.[0];
  await vi.waitFor(() => expect(address()).toBeDefined(), { timeout: 60_000, interval: 20 });
  const tables =
    await admin`select format('%I', tablename) as name from pg_tables where schemaname = 'public'`;
  const close = await openTransaction(admin, async (sql) => {
    await sql.unsafe(`lock table ${tables.map(({ name }) => name).join(", ")}`);
  });
  const sign = { email: "nobody@example.com", password: "none of them" };
  const asking = Array.from({ length: 3 }, () =>
    fetch(`${address()}/api/auth/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(sign),
    }).catch(() => null),
  );
  await lockWaits(admin, 2, 60_000);
  const before = performance.now();
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(performance.now() - before).toBeLessThan(11_000);
  expect(said()).toMatch(/Stopped\.\n$/);
  await Promise.all(asking);
  await close();
  await admin.end();
  await database.drop();
});

test("a signal while the embedded database is being made leaves no server, no lock and no half of a database", async () => {
  const folder = await newFolder();
  const { child, said, ended } = run([MAIN], { DATA_DIR: folder });
  const home = join(folder, "postgres");
  const isBeingMade = () => filesIn(home).some((name) => name.startsWith("new-"));
  await vi.waitFor(() => expect(isBeingMade()).toBe(true), { timeout: 60_000, interval: 1 });
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(said()).toBe("Stopped.\n");
  expect(isBeingMade()).toBe(false);
  expect(filesIn(folder)).not.toContain("service.pid");
  expect(filesIn(join(home, "cluster"))).not.toContain("postmaster.pid");
});

test("a signal to a program that has started the embedded database stops the server, too", async () => {
  const folder = await newFolder();
  const program = `
    const { withStoppedDatabase } = await import(${JSON.stringify(STORED_DATABASE)});
    const { readConfig } = await import(${JSON.stringify(CONFIG)});
    const { openClient } = await import(${JSON.stringify(OPEN)});
    const work = async (url) => {
      console.log("working");
      await openClient(url, {}).sql\`select pg_sleep(60)\`;
    };
    await withStoppedDatabase(readConfig(process.env), work).catch((error) => console.log(error.message));`;
  const { child, said, ended } = run(["--input-type=module", "-e", program], { DATA_DIR: folder });
  await vi.waitFor(() => expect(said()).toBe("working\n"), { timeout: 60_000, interval: 20 });
  child.kill("SIGINT");
  await ended;
  expect(said()).toBe("working\nStopped by SIGINT before its end.\n");
  expect(filesIn(folder)).not.toContain("service.pid");
  expect(filesIn(join(folder, "postgres/cluster"))).not.toContain("postmaster.pid");
});
