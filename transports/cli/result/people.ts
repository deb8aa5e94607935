import type { Catalog } from "#runtime/operation/catalog.ts";
import { listedColumns } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";
import { type Eligibility, eligibilityText } from "./eligibility.ts";
import { asTable, type Layout } from "./table.ts";

/** The columns of a list that people are shown when they choose none. */
export function shownColumns(table: Table): string[] {
  // Only a program compares versions.
  return listedColumns(table).filter((name) => name !== "version");
}

/** A result as people read it. */
export function forPeople(
  operation: Operation,
  value: unknown,
  { input }: { input: Record<string, unknown> },
  { catalog, ...layout }: Layout & { catalog: Catalog },
): string {
  if (operation.name === "explain_eligibility") return eligibilityText(value as Eligibility, layout);
  if (operation.crud?.verb === "list") {
    const listed = shownColumns(operation.crud.table);
    const order = typeof input.select === "string" ? namesOf(input.select) : listed;
    return asTable(value, { ...layout, order, mayLeaveOut: order.join() === listed.join() });
  }
  if (Array.isArray(value)) return asTable(value, { ...layout, mayLeaveOut: true });
  return asTable(shownOf(operation, value, input, catalog), layout).replaceAll(/ +$/gm, "");
}

/** Of a record that was asked for all that it says; of one that was written what matters, and what was changed. */
function shownOf(
  { crud }: Operation,
  value: unknown,
  input: Record<string, unknown>,
  catalog: Catalog,
): unknown {
  if (!crud) return withoutRepeats(value, catalog);
  if (crud.verb === "get" || !isRecord(value)) return told(value);
  const shown = brief(crud.table.noun, value, catalog);
  if (crud.verb !== "update") return shown;
  return {
    ...shown,
    ...Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(input, name))),
  };
}

function namesOf(select: string): string[] {
  return select.split(",").map((name) => name.trim());
}

/** A record with those fields alone that say something. */
function told<T>(value: T): T | object {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name, one]) => one !== null && one !== "" && name !== "property_id"),
  );
}

/** A function's result: the records in it with what matters of them, and nothing twice. */
function withoutRepeats(value: unknown, catalog: Catalog): unknown {
  const own = told(value);
  if (typeof own !== "object" || own === null) return own;
  const records = Object.entries(own).filter(([, one]) => isRecord(one)) as [string, object][];
  const known = new Set(records.flatMap(([, one]) => Object.entries(one).map(pair)));
  const shown = Object.entries(own).flatMap(([name, one]) => {
    if (isRecord(one)) return [[name, brief(name, one, catalog)]];
    return known.has(pair([name, one])) ? [] : [[name, one]];
  });
  return Object.fromEntries(shown);
}

const pair = (entry: [string, unknown]): string => JSON.stringify(entry);

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && "id" in value;
}

/** A record of a table with the columns that matter, any other one as it is. */
function brief(name: string, record: Record<string, unknown>, catalog: Catalog): object {
  const table = [...catalog.tables.values()].find(({ noun }) => noun === name);
  if (!table) return told(record);
  const { dry_run, summary, stats } = record as Extras;
  const listed = shownColumns(table).map((column): [string, unknown] => [column, record[column]]);
  const warnings = summary?.warnings ?? [];
  const counts = Object.entries(stats ?? {}).filter(([, count]) => typeof count === "number" && count > 0);
  return told({
    ...Object.fromEntries(listed),
    ...secretsOf(table, record),
    ...(warnings.length > 0 && { warnings: warnings.join(" ") }),
    ...(counts.length > 0 && { counts: Object.fromEntries(counts) }),
    ...(stats?.skipped && { skipped: stats.skipped }),
    ...(dry_run && { dry_run }),
  });
}

/** The facts about a record beside its columns. */
interface Extras {
  dry_run?: true;
  summary?: { warnings?: string[] } | null;
  stats?: { skipped?: object };
}

/** The values that are shown only once. */
function secretsOf({ secrets }: Table, record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(secrets).map((name) => [name, record[name]]));
}
