import type { Sql } from "#db/client.ts";
import { copyBytes, copyIn, copyLine } from "#db/copy.ts";
import { FIELDS } from "./fields.ts";
import type { Staged } from "./rows.ts";

/** The columns of `players` that an import writes, with their types. */
export const PLAYER_COLUMNS: Readonly<Record<string, string>> = {
  email: "text",
  email_hash: "bytea",
  phone: "text",
  phone_hash: "bytea",
  ...Object.fromEntries(Object.entries(FIELDS).map(([name, { type }]) => [name, type])),
  custom: "jsonb",
};

const EVERY = Object.keys(PLAYER_COLUMNS);
/** What the judgement reads, whether or not the file has it. */
const READ = ["player_id", "email", "email_hash", "phone", "phone_hash", "status", "tags", "custom"];

/** The columns that the rows have values for, and those that are always there. */
export function columnsIn(rows: readonly Staged[]): string[] {
  const used = new Set(READ);
  for (const { values } of rows) for (const name in values) used.add(name);
  return EVERY.filter((name) => used.has(name));
}

/**
 * Puts the rows into the transaction's own table `import_file`, and makes `import_rows` for what is found out
 * about them: `player` is whom a row is about once it is written. `identify` gives a person's hash, where one is needed.
 */
export async function stage(
  sql: Sql,
  rows: readonly Staged[],
  columns: readonly string[],
  identify: (row: Staged) => Buffer | null,
): Promise<void> {
  const given = `row int, id uuid, match_on text, identity_hash bytea,
    ${columns.map((name) => `${name} ${PLAYER_COLUMNS[name]}`).join(", ")}`;
  await sql
    .unsafe(`
      create temp table import_file (${given}) on commit drop;
      create temp table import_rows (
        ${given}, target uuid, target_status text, excluded boolean, verdict text,
        player uuid generated always as (coalesce(target, id)) stored) on commit drop`)
    .simple();
  const names = ["row", "id", "match_on", "identity_hash", ...columns];
  await copyIn(sql, "import_file", names, lines(rows, columns, identify));
}

function* lines(
  rows: readonly Staged[],
  columns: readonly string[],
  identify: (row: Staged) => Buffer | null,
): Generator<string> {
  for (const staged of rows) {
    const { row, id, matchOn, values } = staged;
    const cells: (string | null)[] = [String(row), id, matchOn, copyBytes(identify(staged))];
    for (const name of columns) cells.push(values[name] ?? null);
    yield copyLine(cells);
  }
}
