import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import postgres from "postgres";

const FOLDER = new URL("./migrations/", import.meta.url);
const LOCK = 7_305_133;

export interface Applied {
  name: string;
  milliseconds: number;
}

/**
 * Brings a database up to date, under an advisory lock. Answers the migrations that it applied. Throws when
 * one that was applied has been edited since, or when the database is ahead of this code.
 */
export async function migrate(url: string): Promise<Applied[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
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

async function apply(sql: postgres.Sql, name: string, text: string, checksum: string): Promise<Applied> {
  const startedAt = performance.now();
  await sql.begin(async (transaction) => {
    await transaction.unsafe(text).simple();
    await transaction`insert into migrations (name, checksum) values (${name}, ${checksum})`;
  });
  return { name, milliseconds: Math.round(performance.now() - startedAt) };
}
