import { mkdtemp, readFile, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";
import { createDatabases, dropDatabase, joinDatabases, workersOf } from "../cluster/citus.ts";
import { KEEPING, openStatementLog } from "../statements/statement-log.ts";
import { withDatabase } from "./server-url.ts";

const TEMPLATE = "marketing_template";

/**
 * One PostgreSQL for the whole run, migrated once into a template that test files clone. TEST_DATABASE_URL
 * points the run at another server, where it may create databases; TEST_DATABASE_TEMPLATE is migrated there already.
 */
export default async function setup(project: TestProject) {
  const given = process.env.TEST_DATABASE_URL;
  const prepared = process.env.TEST_DATABASE_TEMPLATE;
  const folder = given ? null : await mkdtemp(join(await databaseFolder(), "marketing-"));
  const embedded = folder ? await startKeeping(folder) : null;
  const server = given ?? embedded!.url;
  const admin = postgres(server, { max: 1, onnotice: () => {} });
  const template = prepared ?? (given ? `${TEMPLATE}_${process.pid}` : TEMPLATE);
  const workers = given ? await workersOf(server) : [];
  if (!prepared) {
    await createDatabases([server, ...workers], template);
    if (workers.length > 0) await joinDatabases(server, workers, template);
    await migrate(withDatabase(server, template));
  }
  const statements = await openStatementLog(admin, template, (database) => withDatabase(server, database));
  project.provide("server", server);
  project.provide("workers", workers);
  project.provide("template", template);
  project.provide("updatesSnapshots", project.config.snapshotOptions.updateSnapshot === "all");
  return async () => {
    const verdict = await Promise.allSettled([statements?.check()]);
    await statements?.close();
    if (given && !prepared) await dropDatabase(server, workers, template);
    await admin.end();
    await embedded?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
    if (verdict[0].status === "rejected") throw verdict[0].reason;
  };
}

const MEMORY = "/dev/shm";
/** The server's log of changes alone grows to two. */
const ROOM = 6 * 1024 ** 3;

/**
 * In memory, where there is room and programs may run: the server's own may be copied there. A clone of the template
 * takes a third of the time that it takes on a disk.
 */
export async function databaseFolder(): Promise<string> {
  const mounts = await readFile("/proc/self/mounts", "utf8").catch(() => "");
  const memory = mounts.split("\n").find((line) => line.split(" ")[1] === MEMORY);
  if (!memory || memory.includes("noexec")) return tmpdir();
  const { bavail, bsize } = await statfs(MEMORY);
  return bavail * bsize > ROOM ? MEMORY : tmpdir();
}

/** A server of our own that keeps the statements it runs. Its settings are read when it starts. */
async function startKeeping(dataDir: string): Promise<EmbeddedDatabase> {
  const first = await startEmbedded({ dataDir, durable: false });
  const admin = postgres(first.url, { max: 1, onnotice: () => {} });
  for (const [name, value] of Object.entries(KEEPING)) {
    await admin.unsafe(`alter system set ${name} = '${value}'`);
  }
  // The usual 4,096 rounds of the password's hash cost each of a run's thousands of connections 3 ms.
  await admin.unsafe("set scram_iterations = 1");
  await admin.unsafe(`alter role postgres password '${decodeURIComponent(new URL(first.url).password)}'`);
  await admin.end();
  await first.stop();
  return startEmbedded({ dataDir, durable: false });
}

declare module "vitest" {
  interface ProvidedContext {
    server: string;
    /** The other nodes, where the server is the coordinator of a Citus cluster. */
    workers: string[];
    template: string;
    /** vitest was started with -u. */
    updatesSnapshots: boolean;
  }
}
