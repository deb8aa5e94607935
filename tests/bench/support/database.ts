import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";

let server: { url: string; stop(): Promise<void> } | null = null;

/**
 * The server that all benchmarks of a run share: an embedded one with its safe settings, or BENCH_DATABASE_URL. The
 * folder BENCH_DATA stays after the run, with the databases that are made once; see `keptDatabase`.
 */
export async function benchServer(): Promise<string> {
  if (server) return server.url;
  const given = process.env.BENCH_DATABASE_URL;
  if (given) {
    server = { url: given, stop: async () => {} };
    return given;
  }
  const kept = process.env.BENCH_DATA;
  const folder = kept ?? (await mkdtemp(join(tmpdir(), "marketing-bench-")));
  const embedded = await startEmbedded({ dataDir: folder });
  server = {
    url: embedded.url,
    stop: async () => {
      await embedded.stop();
      if (kept === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
  return embedded.url;
}

export async function stopBenchServer(): Promise<void> {
  await server?.stop();
  server = null;
}

/** A migrated database of its own; answers its URL. */
export async function benchDatabase(): Promise<string> {
  const url = await newDatabase(`b_${randomBytes(6).toString("hex")}`);
  await migrate(url);
  return url;
}

/**
 * A copy of a database that `fill` has filled, which a folder BENCH_DATA keeps for further runs: large data are built
 * once, and each run begins with the same. Other migrations make another one. Without BENCH_DATA it is filled anew.
 */
export async function keptDatabase(name: string, fill: (url: string) => Promise<void>): Promise<string> {
  if (process.env.BENCH_DATA === undefined) {
    const url = await benchDatabase();
    await fill(url);
    return url;
  }
  const kept = `kept_${name}_${await migrationsHash()}`;
  const admin = postgres(await benchServer(), { max: 1, onnotice: () => {} });
  try {
    const [known] = await admin`select from pg_database where datname = ${kept}`;
    if (!known) {
      await admin.unsafe("drop database if exists filling");
      const url = await newDatabase("filling");
      await migrate(url);
      await fill(url);
      await admin.unsafe(`alter database filling rename to ${kept}`);
    }
    const copy = `b_${randomBytes(6).toString("hex")}`;
    await admin.unsafe(`create database ${copy} template ${kept} strategy file_copy`);
    return urlOf(await benchServer(), copy);
  } finally {
    await admin.end();
  }
}

async function newDatabase(name: string): Promise<string> {
  const server = await benchServer();
  const admin = postgres(server, { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${name}`);
  await admin.end();
  return urlOf(server, name);
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function migrationsHash(): Promise<string> {
  const folder = new URL("../../../db/migrations/", import.meta.url);
  const hash = createHash("sha256");
  for (const file of (await readdir(folder)).sort()) hash.update(await readFile(new URL(file, folder)));
  return hash.digest("hex").slice(0, 12);
}
