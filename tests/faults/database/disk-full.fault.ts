import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { type EmbeddedDatabase, startEmbedded } from "#db/embedded/start.ts";
import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { startService } from "../support/process.ts";
import { openScenario } from "../support/scenario.ts";
import { databaseOn } from "../support/server.ts";

const MEGABYTES = 512;
/** A request's own deadline is 5 s; the rest is the wait of so many clients on one machine. */
const SLOWEST = 15_000;
const HEALTHY_WITHIN = 10_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const disk = await smallDisk();
    if (!disk) {
      process.stdout.write("the database's disk is full: left out, this user may not mount a small disk\n");
      return;
    }
    try {
      report("the database's disk is full", await filled(disk, long ? 500 : 50));
    } finally {
      await disk.remove();
    }
  }
};
export default fault;

interface Disk {
  folder: string;
  /** Leaves no byte free. */
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** In memory, because a disk of its own takes a mount; null where mounts are not allowed. */
async function smallDisk(): Promise<Disk | null> {
  const run = promisify(execFile);
  const folder = await mkdtemp(join(tmpdir(), "marketing-disk-"));
  const options = ["-t", "tmpfs", "-o", `size=${MEGABYTES}m,mode=755`, "tmpfs", folder];
  const mounted = await run("mount", options).catch(() => null);
  if (!mounted) {
    await rm(folder, { recursive: true });
    return null;
  }
  const ballast = join(folder, "ballast");
  return {
    folder,
    fill: () => writeUntilFull(ballast),
    free: () => rm(ballast),
    remove: async () => {
      await run("umount", [folder]);
      await rm(folder, { recursive: true });
    },
  };
}

async function writeUntilFull(path: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for (const size of [1_048_576, 4_096]) {
      const bytes = Buffer.alloc(size);
      const full = (error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOSPC") throw error;
        return null;
      };
      while ((await file.write(bytes).catch(full))?.bytesWritten === size);
    }
  } finally {
    await file.close();
  }
}

/** Fills the disk under writing clients, each of whom sends a key until it is answered, and gives it room again. */
async function filled(disk: Disk, clients: number): Promise<Outcome> {
  let server = await startEmbedded({ dataDir: disk.folder });
  const database = await databaseOn(server.url);
  const service = await startService({ DATABASE_URL: database, APP_SECRET: "f".repeat(32) });
  const scenario = await openScenario(database);
  try {
    const statuses = new Map<number, number>();
    const acknowledged = new Map<string, string>();
    let slowest = 0;
    let lastTrouble = 0;
    let done = false;
    const write = async (key: string) => {
      for (;;) {
        const startedAt = performance.now();
        const { status, body } = await send(service, scenario.key, "POST", "/api/players", {
          body: { first_name: key },
          headers: { "Idempotency-Key": key },
        });
        slowest = Math.max(slowest, performance.now() - startedAt);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 201) return void acknowledged.set(key, body.id);
        lastTrouble = performance.now();
        if (status !== 503 && status !== 409) return;
      }
    };
    const writing = Promise.all(
      Array.from({ length: clients }, async () => {
        while (!done) await write(randomUUID());
      }),
    );
    await until("the load", 60_000, () => acknowledged.size > 2 * clients);
    await disk.fill();
    await until("the refusals", 60_000, () => (statuses.get(503) ?? 0) > 2 * clients);
    await disk.free();
    const ended = await endedByItself(server);
    // A server that could not write its log any more has ended, as PostgreSQL does; its operator starts it again.
    if (ended) server = await startedAgain(server, disk.folder);
    const roomAt = performance.now();
    const before = acknowledged.size;
    await until("health", 60_000, () => acknowledged.size > before + 2 * clients);
    done = true;
    await writing;
    const healed = Math.max(0, lastTrouble - roomAt);
    const rows = await scenario.sql<{ first_name: string; id: string }[]>`
      select first_name, id from players where property_id = ${scenario.id}`;
    const kept = new Map(rows.map((row) => [row.first_name, row.id]));
    const others = [...statuses.keys()].filter((status) => ![201, 409, 503].includes(status));
    return {
      about: `${clients} clients: ${[...statuses].map(([status, count]) => `${count} times ${status}`).join(", ")}; ${ended ? "the database server ended and was started again" : "the database server stayed up"}; the last refusal ${seconds(healed)} after there was room, the slowest answer ${seconds(slowest)}`,
      ledger: {
        lost: [...acknowledged].filter(([key, id]) => kept.get(key) !== id).length,
        doubled: repeats(rows.map((row) => row.first_name)),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`answers ${others.join(", ")}: ${service.output().slice(0, 2_000)}`]: others.length > 0,
        [`healthy after ${seconds(healed)}`]: healed > HEALTHY_WITHIN,
        [`an answer took ${seconds(slowest)}`]: slowest > SLOWEST,
      }),
    };
  } finally {
    await scenario.close();
    await service.terminate();
    await server.stop();
  }
}

async function endedByItself({ url }: EmbeddedDatabase): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} });
  try {
    await sql`select 1`;
    return false;
  } catch {
    return true;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

async function startedAgain(server: EmbeddedDatabase, folder: string): Promise<EmbeddedDatabase> {
  await server.stop();
  return startEmbedded({ dataDir: folder });
}
