import { stat } from "node:fs/promises";
import type postgres from "postgres";
import { command, openClient } from "#db/connection/open.ts";
import { partitionedTables } from "#db/partitions/partitions.ts";
import { copyOut } from "#db/stream/copy-out.ts";
import { inOrderOfReference, tablesOf } from "#db/tables.ts";
import { BackupError, type Header, writeBackup } from "./file.ts";

export interface BackupSummary {
  takenAt: string;
  tables: number;
  /** Of the file. */
  bytes: number;
}

/**
 * Writes one consistent copy of the database into a file, while the service runs: every table in one snapshot. The
 * schema is named by its migrations. APP_SECRET is not in it. Throws BackupError where the file exists.
 */
export async function takeBackup(url: string, path: string): Promise<BackupSummary> {
  if (await stat(path).catch(() => null)) throw new BackupError(`${path} exists already.`);
  const { sql, end } = openClient(url, { onnotice: () => {}, connection: { statement_timeout: 0 } });
  try {
    await command(sql, "begin isolation level repeatable read read only");
    const tables = inOrderOfReference(await tablesOf(sql));
    const months = await partitionedTables((statement) => command(sql, statement));
    const partitions = months.flatMap(({ table, months }) => months.map((month) => ({ table, month })));
    const header = { ...(await aboutOf(sql)), partitions, tables };
    const walled = new Set(tables.filter(({ is_walled }) => is_walled).map(({ name }) => name));
    const copy = async function* ({ name, columns }: Header["tables"][number]) {
      // Row-level security holds for the owner too, and hides every row: the reader is the role that it lets pass.
      await command(sql, walled.has(name) ? "set local role app_reader" : "set local role none");
      yield* copyOut(sql, `copy (select ${columns.map(quoted).join(", ")} from ${quoted(name)}) to stdout`);
    };
    await writeBackup(
      path,
      { ...header, tables: tables.map(({ name, columns }) => ({ name, columns })) },
      copy,
    );
    await command(sql, "commit");
    return { takenAt: header.taken_at, tables: tables.length, bytes: (await stat(path)).size };
  } finally {
    await end();
  }
}

async function aboutOf(sql: postgres.Sql): Promise<Omit<Header, "format" | "tables" | "partitions">> {
  const [about] = await sql<{ taken_at: string; secret_fingerprint: string | null }[]>`
    select to_json(now()) #>> '{}' as taken_at, secret_fingerprint from installation`;
  const migrations = await sql<Header["migrations"]>`select name, checksum from migrations order by name`;
  return { ...about!, migrations: [...migrations] };
}

function quoted(name: string): string {
  return `"${name}"`;
}
