import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";
import { createDatabases, dropDatabase, joinDatabases, workersOf } from "../../support/cluster/citus.ts";
import { withDatabase } from "../../support/postgres/server-url.ts";

const onGiven: string[] = [];
let running: { folder: string; embedded: EmbeddedDatabase } | null = null;

/**
 * A migrated database on a server that this process holds, so that a service can be killed alone; or on that of
 * TEST_DATABASE_URL, which may be the coordinator of a cluster.
 */
export async function newDatabase(): Promise<string> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    const url = await databaseOn(given);
    onGiven.push(url);
    return url;
  }
  if (!running) {
    const folder = await mkdtemp(join(tmpdir(), "marketing-faults-"));
    running = { folder, embedded: await startEmbedded({ dataDir: folder }) };
  }
  return databaseOn(running.embedded.url);
}

/** One more migrated database on a server. */
export async function databaseOn(url: string): Promise<string> {
  const name = `f_${randomBytes(6).toString("hex")}`;
  const workers = await workersOf(url);
  await createDatabases([url, ...workers], name);
  if (workers.length > 0) await joinDatabases(url, workers, name);
  const database = withDatabase(url, name);
  await migrate(database);
  return database;
}

/** Stops the server as a crash does (immediate), and starts it again at the same address. */
export async function restartServer(): Promise<void> {
  if (!running) throw new Error("no server is running");
  const { folder, embedded } = running;
  const admin = postgres(embedded.url, { max: 1, onnotice: () => {} });
  const [row] = await admin<{ cluster: string }[]>`select current_setting('data_directory') as cluster`;
  await admin.end();
  const [pid] = (await readFile(join(row!.cluster, "postmaster.pid"), "utf8")).split("\n");
  process.kill(Number(pid), "SIGQUIT");
  await embedded.stop();
  running = { folder, embedded: await startEmbedded({ dataDir: folder }) };
}

export async function stopServer(): Promise<void> {
  for (const url of onGiven.splice(0)) {
    await dropDatabase(
      process.env.TEST_DATABASE_URL!,
      await workersOf(process.env.TEST_DATABASE_URL!),
      new URL(url).pathname.slice(1),
    );
  }
  await running?.embedded.stop();
  if (running) await rm(running.folder, { recursive: true, force: true });
  running = null;
}
