import { stat } from "node:fs/promises";
import type postgres from "postgres";
import { openClient } from "#db/connection/open.ts";
import { copyOut } from "#db/stream/copy-out.ts";
import { BackupError, type Header, writeBackup } from "./file.ts";

export interface BackupSummary {
  takenAt: string;
  tables: number;
  /** Of the file. */
  bytes: number;
}

interface TableFacts {
  name: string;
  columns: string[];
  /** The tables that it refers to. */
  targets: string[];
  is_walled: boolean;
}

/**
 * Writes one consistent copy of the database into a file, while the service runs: every table in one snapshot. The
 * schema is named by its migrations. APP_SECRET is not in it. Throws BackupError where the file exists.
 */
export async function takeBackup(url: string, path: string): Promise<BackupSummary> {
  if (await stat(path).catch(() => null)) throw new BackupError(`${path} exists already.`);
  const { sql, end } = openClient(url, { onnotice: () => {}, connection: { statement_timeout: 0 } });
  try {
    await sql.unsafe("begin isolation level repeatable read read only");
    const tables = inOrder(await tablesOf(sql));
    const header = { ...(await aboutOf(sql)), tables };
    const walled = new Set(tables.filter(({ is_walled }) => is_walled).map(({ name }) => name));
    const copy = async function* ({ name, columns }: Header["tables"][number]) {
      // Row-level security holds for the owner too, and hides every row: the reader is the role that it lets pass.
      await sql.unsafe(walled.has(name) ? "set local role app_reader" : "set local role none");
      yield* copyOut(sql, `copy ${quoted(name)} (${columns.map(quoted).join(", ")}) to stdout`);
    };
    await writeBackup(
      path,
      { ...header, tables: tables.map(({ name, columns }) => ({ name, columns })) },
      copy,
    );
    await sql.unsafe("commit");
    return { takenAt: header.taken_at, tables: tables.length, bytes: (await stat(path)).size };
  } finally {
    await end();
  }
}

/** The tables whose rows are kept: not those that are emptied by a crash anyway, nor the list of migrations. */
async function tablesOf(sql: postgres.Sql): Promise<TableFacts[]> {
  return sql<TableFacts[]>`
    select c.relname as name, c.relforcerowsecurity as is_walled,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        order by a.attnum) as columns,
      array(select distinct t.relname::text from pg_constraint k join pg_class t on t.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as targets
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
      and c.relname <> 'migrations'
    order by c.relname`;
}

async function aboutOf(sql: postgres.Sql): Promise<Omit<Header, "format" | "tables">> {
  const [about] = await sql<{ taken_at: string; secret_fingerprint: string | null }[]>`
    select to_json(now()) #>> '{}' as taken_at, secret_fingerprint from installation`;
  const migrations = await sql<Header["migrations"]>`select name, checksum from migrations order by name`;
  return { ...about!, migrations: [...migrations] };
}

/** Each table after those that it refers to. */
function inOrder(tables: readonly TableFacts[]): TableFacts[] {
  const ordered = new Set<TableFacts>();
  const add = (table: TableFacts, path: readonly string[]) => {
    if (path.includes(table.name)) throw new Error(`tables refer to each other: ${path.join(", ")}`);
    for (const target of table.targets) {
      const found = tables.find(({ name }) => name === target);
      if (found) add(found, [...path, table.name]);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table, []);
  return [...ordered];
}

function quoted(name: string): string {
  return `"${name}"`;
}
