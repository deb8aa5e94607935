import type postgres from "postgres";
import { command, openClient } from "#db/connection/open.ts";
import { migrate } from "#db/migrate.ts";
import { makePartition, partitionedTables } from "#db/partitions/partitions.ts";
import { copyPieces } from "#db/stream/copy-in.ts";
import { BackupError, type Header, openBackup } from "./file.ts";

export interface RestoreSummary {
  takenAt: string;
  tables: number;
}

/**
 * Brings a backup back into an empty database, whole or not at all. Sending is held in it until an operator releases
 * it. Throws BackupError where the file, the schema, APP_SECRET (by its fingerprint) or the database does not fit.
 */
export async function restoreBackup(
  url: string,
  path: string,
  fingerprint: string | null,
): Promise<RestoreSummary> {
  const backup = await openBackup(path);
  const { header } = backup;
  if (header.secret_fingerprint !== null && header.secret_fingerprint !== fingerprint) {
    throw new BackupError(
      fingerprint === null
        ? "APP_SECRET: required. The backup does not hold the secret of the service that it was taken from."
        : "APP_SECRET: not the one of the service that the backup was taken from.",
    );
  }
  await migrate(url);
  const { sql, end } = openClient(url, { onnotice: () => {}, connection: { statement_timeout: 0 } });
  try {
    await checkDatabase(sql, header);
    for (const partition of header.partitions) await makeMonth(sql, partition);
    await command(sql, "begin");
    await command(sql, `truncate ${header.tables.map(({ name }) => quoted(name)).join(", ")}`);
    for (const table of header.tables) await fill(sql, table, backup.nextTable());
    await backup.end();
    await command(sql, "update installation set identity = 'restored'");
    await command(sql, "commit");
    await command(sql, "analyze");
    return { takenAt: header.taken_at, tables: header.tables.length };
  } finally {
    await end();
  }
}

/** Makes the partition of a month that the backup has and this database has not. */
async function makeMonth(sql: postgres.Sql, partition: Header["partitions"][number]): Promise<void> {
  const known = await partitionedTables((statement) => command(sql, statement));
  const own = known.find(({ table }) => table === partition.table);
  if (!own) throw new BackupError(`The backup has months of a table that has none here: ${partition.table}.`);
  if (own.months.includes(partition.month)) return;
  await sql.begin((transaction) => makePartition((statement) => command(transaction, statement), partition));
}

async function checkDatabase(sql: postgres.Sql, { migrations, tables }: Header): Promise<void> {
  const own = await sql<Header["migrations"]>`select name, checksum from migrations order by name`;
  const other = migrations.find(({ checksum }, place) => own[place]?.checksum !== checksum);
  if (other || migrations.length !== own.length) {
    const name = other?.name ?? own[migrations.length]!.name;
    throw new BackupError(
      `The backup was taken by another version (${name} is not as it is here). Restore it with that version, then upgrade.`,
    );
  }
  const known = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`;
  const strange = tables.find((table) => known.every(({ name }) => name !== table.name));
  if (strange) throw new BackupError(`The backup has a table that is not known here: ${strange.name}.`);
  const [used] = await sql`select from properties limit 1`;
  if (used) throw new BackupError("The database is not empty. Restore into a new one.");
}

/** COPY takes no rows into a table that is walled off from its own owner. */
async function fill(
  sql: postgres.Sql,
  { name, columns }: Header["tables"][number],
  pieces: AsyncIterable<Buffer>,
): Promise<void> {
  const [table] = await sql<{ is_walled: boolean }[]>`
    select relforcerowsecurity as is_walled from pg_class
    where relname = ${name} and relnamespace = 'public'::regnamespace`;
  const wall = (how: string) => command(sql, `alter table ${quoted(name)} ${how} row level security`);
  if (table!.is_walled) await wall("no force");
  await copyPieces(sql, `copy ${quoted(name)} (${columns.map(quoted).join(", ")}) from stdin`, pieces);
  if (table!.is_walled) await wall("force");
}

function quoted(name: string): string {
  return `"${name}"`;
}
