import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";

let server: { url: string; stop(): Promise<void> } | null = null;

/** The server that all benchmarks of a run share: an embedded one with its safe settings, or BENCH_DATABASE_URL. */
export async function benchServer(): Promise<string> {
  if (server) return server.url;
  const given = process.env.BENCH_DATABASE_URL;
  if (given) {
    server = { url: given, stop: async () => {} };
    return given;
  }
  const folder = await mkdtemp(join(tmpdir(), "marketing-bench-"));
  const embedded = await startEmbedded({ dataDir: folder });
  server = {
    url: embedded.url,
    stop: async () => {
      await embedded.stop();
      await rm(folder, { recursive: true, force: true });
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
  const url = new URL(await benchServer());
  const name = `b_${randomBytes(6).toString("hex")}`;
  const admin = postgres(url.href, { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${name}`);
  await admin.end();
  url.pathname = `/${name}`;
  await migrate(url.href);
  return url.href;
}
