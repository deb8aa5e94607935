import { parseSelect } from "#db/query/parse.ts";
import { csvRows } from "#db/stream/csv.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Row, Table } from "#runtime/operation/table.ts";
import { expectOne, type Preferences, TYPES } from "./prefer-header.ts";

/** How what a table's route has to say is answered. */
export interface Shaping {
  wants: Preferences;
  table: Table;
  /** The outcome is an array of records. */
  many: boolean;
  /** The columns asked for; null for all. */
  select: string[] | null;
  /** Records were written, and are not read: a list has its columns chosen already. */
  write: boolean;
}

export interface Shaped extends Outcome {
  contentType: string;
}

/** An outcome in the shape that the headers ask for; without them, the specification's. */
export function shaped(outcome: Outcome, { wants, table, many, select, write }: Shaping): Shaped {
  const json = { ...outcome, contentType: TYPES.json };
  if (outcome.status >= 400) return json;
  if (write && wants.minimal) {
    const said = outcome.dry ? '{"dry_run":true}' : "{}";
    return { ...json, body: said };
  }
  const body = write && select !== null ? projected(outcome.body, select) : outcome.body;
  if (wants.csv) {
    const names = select && outcome.dry ? [...select, "dry_run"] : select;
    return { ...json, body: csv(body, table, names), contentType: `${TYPES.csv}; charset=utf-8` };
  }
  if (wants.single) return { ...json, body: many ? single(body) : body, contentType: TYPES.object };
  return { ...json, body: write && wants.representation && !many ? `[${body}]` : body };
}

/** What `select` asks for in the address of a table. */
export function selection(operation: Operation, query: URLSearchParams): string[] | null {
  const text = query.get("select");
  return text === null || !operation.crud ? null : parseSelect(readableOf(operation.crud.table), text);
}

/** How many rows were written, for who asks to have them counted. */
export function countHeader({ count }: Preferences, { status, body }: Outcome): Record<string, string> {
  if (!count || status >= 400) return {};
  return { "Content-Range": `*/${[JSON.parse(body) as unknown].flat().length}` };
}

/** An upsert's outcome without the rows that were left as they are. One record that was left is no row at all. */
export function newOnes(outcome: Outcome): Outcome {
  if (outcome.status >= 400) return outcome;
  const rows = JSON.parse(outcome.body) as Partial<Row> | (Row | null)[];
  if (!Array.isArray(rows)) return rows.id === undefined ? { ...outcome, body: "[]" } : outcome;
  return { ...outcome, body: JSON.stringify(rows.filter((row) => row !== null)) };
}

/** Of what a removal answers, which may be the rows, what it tells who has not asked for them. */
export function successes(outcome: Outcome): Outcome {
  if (outcome.status >= 400) return outcome;
  const shown = ({ dry_run }: { dry_run?: true }) => ({ success: true, ...(dry_run && { dry_run }) });
  const rows = [JSON.parse(outcome.body) as { dry_run?: true }].flat();
  return { ...outcome, body: JSON.stringify(rows.map(shown)) };
}

function projected(body: string, select: string[]): string {
  const one = ({ dry_run, ...row }: Record<string, unknown>) => ({
    ...Object.fromEntries(select.map((name) => [name, row[name]])),
    ...(dry_run === true && { dry_run }),
  });
  const value = JSON.parse(body) as Record<string, unknown> | Record<string, unknown>[];
  return JSON.stringify(Array.isArray(value) ? value.map(one) : one(value));
}

function single(body: string): string {
  const rows = JSON.parse(body) as unknown[];
  expectOne(rows.length);
  return JSON.stringify(rows[0]);
}

/** One record or several as CSV, in the order asked for, else the table's. */
function csv(body: string, table: Table, select: string[] | null): string {
  const { columns } = readableOf(table);
  const rows = [JSON.parse(body) as Record<string, unknown>].flat();
  const names = select ?? Object.keys(rows[0] ?? columns);
  return csvRows([...new Set(names)], rows, (name) => columns[name]?.type);
}
