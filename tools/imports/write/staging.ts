import { adHoc, raw, type Sql } from "#db/sql.ts";
import { copyBytes, copyIn, copyLine } from "#db/stream/copy-in.ts";
import { FIELDS } from "#tools/imports/read/fields.ts";
import type { Staged } from "#tools/imports/read/rows.ts";

/** The columns of `players` that an import writes, with their types. */
const PLAYER_COLUMNS: Readonly<Record<string, string>> = {
  email: "text",
  email_hash: "bytea",
  phone: "text",
  phone_hash: "bytea",
  ...Object.fromEntries(Object.entries(FIELDS).map(([name, { type }]) => [name, type])),
  custom: "jsonb",
};

const EVERY = Object.keys(PLAYER_COLUMNS);
/** The columns that the verdicts need, even when the file lacks them. */
const READ = ["player_id", "email", "email_hash", "phone", "phone_hash", "status", "tags", "custom"];

/** The columns for which the rows have values, and those that are always present. */
export function columnsIn(rows: readonly Staged[]): string[] {
  const used = new Set(READ);
  for (const { values } of rows) for (const name in values) used.add(name);
  return EVERY.filter((name) => used.has(name));
}

interface RowHashes {
  person(row: Staged): Buffer | null;
  number(row: Staged): Buffer | null;
}

/**
 * Copies the rows into the temporary table `import_file`. Creates `import_rows` for their verdicts, where `player` is
 * the row's player, new or known. `hashes` gives the hash of a person and of a player_id, or null where none is needed.
 */
export async function stage(
  sql: Sql,
  rows: readonly Staged[],
  columns: readonly string[],
  hashes: RowHashes,
): Promise<void> {
  const given = adHoc(
    raw(`row int, id uuid, match_on text, identity_hash bytea, number_hash bytea,
    ${columns.map((name) => `${name} ${PLAYER_COLUMNS[name]}`).join(", ")}`),
  );
  await sql`create temp table import_file (${given}) on commit drop`;
  await sql`
    create temp table import_rows (
      ${given}, target uuid, target_status text, excluded boolean, barred text, verdict text,
      player uuid generated always as (coalesce(target, id)) stored) on commit drop`;
  const names = ["row", "id", "match_on", "identity_hash", "number_hash", ...columns];
  await copyIn(sql, "import_file", names, lines(rows, columns, hashes));
}

function* lines(
  rows: readonly Staged[],
  columns: readonly string[],
  { person, number }: RowHashes,
): Generator<string> {
  for (const staged of rows) {
    const { row, id, matchOn, values } = staged;
    const cells: (string | null)[] = [
      String(row),
      id,
      matchOn,
      copyBytes(person(staged)),
      copyBytes(number(staged)),
    ];
    for (const name of columns) cells.push(values[name] ?? null);
    yield copyLine(cells);
  }
}
