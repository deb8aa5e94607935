import { type Fragment, identifier, join, raw, sql } from "#db/sql.ts";
import { cellSql, csvLine, safeCellSql } from "#db/stream/csv.ts";
import type { ExportSource } from "#db/stream/export.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { CustomFields } from "#tools/custom-fields/values.ts";
import players from "./players.table.ts";

/** The players of an audience, newest first, as CSV: every column, consent by channel, custom fields by key. */
export function playersCsv(
  property: string,
  audience: Fragment,
  limit: number,
  fields: CustomFields,
): ExportSource {
  const columns = [...fixedColumns(), ...customColumns(fields)];
  const cells = join(columns.map(({ cell }) => cell));
  return async function* (copy) {
    // Read before the rows, so that the receiver sees at once that the file begins.
    yield Buffer.from(csvLine(columns.map(({ name }) => name)));
    yield* copy(sql`select ${cells} from players p
      where p.property_id = ${property}::uuid and ${audience}
      order by p.created_at desc, p.id desc limit ${limit}::int`);
  };
}

/** One column a field. Lists are written as JSON, which an import reads whatever the texts contain. */
function customColumns(fields: CustomFields): { name: string; cell: Fragment }[] {
  return [...fields.values()].map(({ key, type }) => {
    const text = sql`(p.custom ->> ${key}::text)`;
    return { name: `custom.${key}`, cell: type === "text" || type === "enum" ? safeCellSql(text) : text };
  });
}

/** The columns other than custom fields, with the SQL of their cells. */
function fixedColumns(): { name: string; cell: Fragment }[] {
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
    return [{ name, cell: cellSql(expression ? raw(`(${expression})`) : sql`p.${identifier(name)}`, type) }];
  });
}
