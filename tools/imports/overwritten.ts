import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import { type ImportParams, MATCH_KEYS } from "./job/import-job.ts";
import { records, survey } from "./read/csv.ts";
import { decimalOf } from "./read/file-decimal.ts";
import { seenIdentities } from "./read/identity-set.ts";
import { layoutOf } from "./read/layout.ts";
import { rowReader, type Staged } from "./read/rows.ts";
import { matches } from "./write/verdicts.ts";

/** The number of players whose values the rows go over. */
export async function countOverwritten(context: Context, rows: readonly Staged[]): Promise<number> {
  const known = rows.map(({ row, matchOn, values: { player_id, email, phone } }) => ({
    ...{ row, match_on: matchOn, player_id, email, phone },
  }));
  const [counted] = await context.sql<[{ count: number }]>`
    select count(distinct p.id)::int as count
    from jsonb_to_recordset(${known}::jsonb) as r(row int, match_on text, player_id text, email text, phone text)
    cross join lateral (${matches(context, MATCH_KEYS, true)}) p`;
  return counted.count;
}

/** The rows that a file would write; none of a file that cannot be read: its job says why. */
export async function writtenRows(
  context: Context,
  file: Buffer,
  params: ImportParams,
  customs: CustomFields,
): Promise<Staged[]> {
  return readRows(context, file, params, customs).catch((error: unknown) => {
    if (error instanceof Fault) return [];
    throw error;
  });
}

async function readRows(
  { property, now }: Context,
  file: Buffer,
  params: ImportParams,
  customs: CustomFields,
): Promise<Staged[]> {
  async function* bytes() {
    yield file;
  }
  const found = await survey(bytes(), params);
  const staged: Staged[] = [];
  const unrecorded = { no_evidence: 0, no_address: 0, no_date: 0 };
  let readRow: ReturnType<typeof rowReader> | null = null;
  let row = 0;
  for await (const cells of records(bytes(), found)) {
    if (!readRow) {
      const header = params.has_header ? cells : cells.map((_cell, index) => String(index + 1));
      const layout = layoutOf(header, params, customs);
      readRow = rowReader({
        layout,
        params,
        property,
        customs,
        seen: seenIdentities(),
        unrecorded,
        tiers: new Map(),
        decimal: decimalOf(found, params, layout, customs),
        now: now(),
      });
      if (params.has_header) continue;
    }
    row += 1;
    const read = readRow(cells, row);
    if (!Array.isArray(read)) staged.push(read);
  }
  return staged;
}
