import type { Sql } from "#db/client.ts";
import { copyIn, copyLine } from "#db/copy.ts";
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

const VALUES = Object.keys(PLAYER_COLUMNS);

const CREATE = `
  create temp table import_rows (
    row int, id uuid, match_on text, ${VALUES.map((name) => `${name} ${PLAYER_COLUMNS[name]}`).join(", ")},
    target uuid, target_status text, target_job uuid, erased boolean, excluded boolean, verdict text
  ) on commit drop`;

/** Puts the rows into the transaction's own table `import_rows`. */
export async function stage(sql: Sql, rows: readonly Staged[]): Promise<void> {
  await sql.unsafe(CREATE);
  await copyIn(sql, "import_rows", ["row", "id", "match_on", ...VALUES], lines(rows));
}

function* lines(rows: readonly Staged[]): Generator<string> {
  for (const { row, id, matchOn, values } of rows) {
    const cells: (string | null)[] = [String(row), id, matchOn];
    for (const name of VALUES) cells.push(values[name] ?? null);
    yield copyLine(cells);
  }
}
