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

const VALUES = Object.keys(PLAYER_COLUMNS);
const GIVEN = `row int, id uuid, match_on text, identity_hash bytea,
  ${VALUES.map((name) => `${name} ${PLAYER_COLUMNS[name]}`).join(", ")}`;

const CREATE = `
  create temp table import_file (${GIVEN}) on commit drop;
  create temp table import_rows (
    ${GIVEN}, target uuid, target_status text, excluded boolean, verdict text) on commit drop`;

/**
 * Puts the rows into the transaction's own table `import_file`, and makes `import_rows` for what is found out
 * about them. `identify` gives a person's hash, where one is needed.
 */
export async function stage(
  sql: Sql,
  rows: readonly Staged[],
  identify: (row: Staged) => Buffer | null,
): Promise<void> {
  await sql.unsafe(CREATE).simple();
  await copyIn(sql, "import_file", ["row", "id", "match_on", "identity_hash", ...VALUES], lines(rows, identify));
}

function* lines(rows: readonly Staged[], identify: (row: Staged) => Buffer | null): Generator<string> {
  for (const staged of rows) {
    const { row, id, matchOn, values } = staged;
    const cells: (string | null)[] = [String(row), id, matchOn, copyBytes(identify(staged))];
    for (const name of VALUES) cells.push(values[name] ?? null);
    yield copyLine(cells);
  }
}
