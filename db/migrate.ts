import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import postgres from "postgres";
import { cuttable, gatheringSocket } from "./socket.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
const LOCK = 7_305_133;

export interface Applied {
  name: string;
  milliseconds: number;
}

const PATIENCE_MS = 10_000;

/**
 * Brings a database up to date, under an advisory lock. Answers the migrations that it applied. Throws when
 * one that was applied has been edited since, when the database is ahead of this code or cannot be ours, or when
 * there is no connection to it within `patience` milliseconds.
 */
export async function migrate(url: string, patience = PATIENCE_MS): Promise<Applied[]> {
  const { socket, cut } = cuttable(gatheringSocket());
  // The driver knows the option, and its types do not.
  const sockets = { socket };
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    connect_timeout: PATIENCE_MS / 1000,
    ...sockets,
  });
  try {
    await within(patience, sql, cut, checkServer(sql));
    await sql`select pg_advisory_lock(${LOCK})`;
    await sql`create table if not exists migrations (
      name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
    const done = new Map(
      (await sql<{ name: string; checksum: string }[]>`select name, checksum from migrations`).map((row) => [
        row.name,
        row.checksum,
      ]),
    );
    const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".sql")).sort();
    const unknown = [...done.keys()].find((name) => !files.includes(name));
    if (unknown)
      throw new Error(`The database has the migration ${unknown}, which this version does not know.`);
    const applied: Applied[] = [];
    for (const file of files) {
      const text = await readFile(new URL(file, FOLDER), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      const known = done.get(file);
      if (known !== undefined && known !== checksum) {
        throw new Error(`The migration ${file} was edited after it had been applied.`);
      }
      if (known === undefined) applied.push(await apply(sql, file, text, checksum));
    }
    return applied;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

interface ServerFacts {
  /** As 180001 for 18.1. */
  version: number;
  encoding: string;
}

async function checkServer(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  const flaw = unfit(server!);
  if (flaw) throw Object.assign(new Error(flaw), { code: "UNFIT" });
}

/** Why a database cannot be ours; null when it can. */
export function unfit({ version, encoding }: ServerFacts): string | null {
  if (version < 150_000) return `it is PostgreSQL ${Math.floor(version / 10_000)}, and 15 or newer is needed`;
  if (encoding !== "UTF8") return `its encoding is ${encoding}, and must be UTF8: not every name fits in`;
  return null;
}

/** Where a connection is closed before it is ready, the driver opens the next one without end. */
async function within(
  patience: number,
  sql: postgres.Sql,
  cut: () => void,
  first: Promise<void>,
): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `what answers there has not said within ${patience} ms that it is ready`;
  const timer = setTimeout(() => {
    reject(Object.assign(new Error(message), { code: "CONNECT_TIMEOUT" }));
    cut();
    // At once: nothing has been begun.
    void sql.end({ timeout: 0 });
  }, patience);
  try {
    await Promise.race([first, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function apply(sql: postgres.Sql, name: string, text: string, checksum: string): Promise<Applied> {
  const startedAt = performance.now();
  await sql.begin(async (transaction) => {
    await transaction.unsafe(text).simple();
    await transaction`insert into migrations (name, checksum) values (${name}, ${checksum})`;
  });
  return { name, milliseconds: Math.round(performance.now() - startedAt) };
}
