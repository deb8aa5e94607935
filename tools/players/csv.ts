import { didYouMean } from "#db/nearest.ts";
import { NEWEST_FIRST, parseOrder } from "#db/query/parse.ts";
import type { ReadableTable } from "#db/query/readable-table.ts";
import { orderSql } from "#db/query/to-sql.ts";
import { type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { cellSql, clearNumberSql, csvLine, safeCellSql } from "#db/stream/csv.ts";
import type { ExportSource } from "#db/stream/export.ts";
import { invalid } from "#runtime/faults.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { CustomFields, CustomType } from "#tools/custom-fields/values.ts";
import players from "./players.table.ts";

/** The columns and the rows of an export, both checked. */
interface Layout {
  /** Names of columns; none: all of them. */
  fields?: readonly string[] | undefined;
  /** As lists take it, such as adt.desc. */
  order?: string | undefined;
}

/**
 * The players of an audience as CSV: every column, consent by channel, custom fields by key, newest first; or as the
 * layout says. Throws `invalid` for an unknown field, and QueryError for an unknown order.
 */
export function playersCsv(
  property: string,
  audience: Fragment,
  limit: number,
  customs: CustomFields,
  { fields = [], order = NEWEST_FIRST }: Layout = {},
): ExportSource {
  const columns = chosen([...fixedColumns(), ...customColumns(customs)], fields);
  const ordered = orderSql(QUALIFIED, parseOrder(QUALIFIED, order));
  const cells = join(columns.map(({ cell }) => cell));
  return async function* (copy) {
    // Read before the rows, so that the receiver sees at once that the file begins.
    yield Buffer.from(csvLine(columns.map(({ name }) => name)));
    yield* copy(sql`select ${cells} from players p
      where p.property_id = ${property}::uuid and ${audience}
      order by ${ordered} limit ${limit}::int`);
  };
}

/** A bare name in `order by` would mean the cell, which is a text. */
const QUALIFIED: ReadableTable = {
  table: players.name,
  columns: Object.fromEntries(
    Object.entries(readableOf(players).columns).map(([name, column]) => [
      name,
      { ...column, sql: column.sql ?? `p.${name}` },
    ]),
  ),
};

interface Column {
  name: string;
  cell: Fragment;
}

function chosen(columns: readonly Column[], fields: readonly string[]): readonly Column[] {
  if (fields.length === 0) return columns;
  const byName = new Map(columns.map((column) => [column.name, column]));
  return [...new Set(fields)].map((name) => {
    const column = byName.get(name);
    if (column) return column;
    const known = [...byName.keys()];
    throw invalid(
      "fields",
      `${name} is no column of the export${didYouMean(name, known)}. Known: ${known.join(", ")}`,
    );
  });
}

const CELLS: Partial<Record<CustomType, (text: Fragment) => Fragment>> = {
  text: safeCellSql,
  enum: safeCellSql,
  number: clearNumberSql,
};

/** One column a field. Lists are written as JSON, so an import reads texts with any separators. */
function customColumns(fields: CustomFields): Column[] {
  return [...fields.values()].map(({ key, type }) => {
    const text = sql`(p.custom ->> ${key}::text)`;
    return { name: `custom.${key}`, cell: CELLS[type]?.(text) ?? text };
  });
}

/** The columns other than custom fields, with the SQL of their cells. */
function fixedColumns(): Column[] {
  return Object.entries(readableOf(players).columns).flatMap(([name, { type, sql: expression }]) => {
    if (name === "custom") return [];
    if (name === "consents") {
      return CHANNELS.map((channel) => ({
        name: `consent_${channel}`,
        cell: raw(`p.consents ->> '${channel}'`),
      }));
    }
    if (name === "consent_expiries") {
      return CHANNELS.map((channel) => ({
        name: `consent_${channel}_expires_at`,
        cell: raw(`p.consent_expiries ->> '${channel}'`),
      }));
    }
    if (name === "consent_levels") {
      return CHANNELS.map((channel) => ({
        name: `consent_${channel}_level`,
        cell: raw(`p.consent_levels ->> '${channel}'`),
      }));
    }
    return [{ name, cell: cellSql(expression ? raw(`(${expression})`) : sql`p.${identifier(name)}`, type) }];
  });
}
