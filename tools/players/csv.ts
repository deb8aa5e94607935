import { cellSql, csvLine, safeCellSql } from "#db/csv.ts";
import { literal, type Source } from "#db/flow.ts";
import { arrayLiteral } from "#db/types.ts";
import { shapeOf } from "#runtime/columns.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import type { CustomFields } from "./custom.ts";
import players from "./players.table.ts";

/** One boolean over `players p`, whose placeholders follow the property's. */
export interface Audience {
  text: string;
  params: (string | number | boolean | (string | number)[])[];
}

/** The players of an audience, newest first, as CSV: every column, consent by channel, custom fields by key. */
export function playersCsv(
  property: string,
  audience: Audience,
  limit: number,
  fields: CustomFields,
): Source {
  const columns = [...fixedColumns(), ...customColumns(fields)];
  const cells = columns.map(({ cell }) => cell).join(", ");
  return async function* (_sql, copy) {
    // Known before anything is read, so the receiver sees at once that the file comes.
    yield Buffer.from(csvLine(columns.map(({ name }) => name)));
    yield* copy(`select ${cells} from players p
      where p.property_id = ${literal(property)}::uuid and ${inlined(property, audience)}
      order by p.created_at desc, p.id desc limit ${limit}`);
  };
}

/** A column for each field. A list goes out as JSON, which an import reads whatever its texts hold. */
function customColumns(fields: CustomFields): { name: string; cell: string }[] {
  return [...fields.values()].map(({ key, type }) => {
    const text = `(p.custom ->> ${literal(key)})`;
    return { name: `custom.${key}`, cell: type === "text" || type === "enum" ? safeCellSql(text) : text };
  });
}

/** The audience with its values in it, as COPY takes no parameters. Each of them stands before its cast. */
function inlined(property: string, { text, params }: Audience): string {
  const values = [property, ...params];
  return text.replaceAll(/\$(\d+)/g, (_, place: string) => {
    const value = values[Number(place) - 1]!;
    return literal(Array.isArray(value) ? arrayLiteral(value) : value);
  });
}

/** All columns but the custom fields, and the SQL of their cells. */
function fixedColumns(): { name: string; cell: string }[] {
  return Object.entries(shapeOf(players).columns).flatMap(([name, { type, sql }]) => {
    if (name === "custom") return [];
    if (name === "consents") {
      return CHANNELS.map((channel) => ({ name: `consent_${channel}`, cell: `p.consents ->> '${channel}'` }));
    }
    if (name === "consent_expiries") {
      return CHANNELS.map((channel) => ({
        name: `consent_${channel}_expires_at`,
        cell: `p.consent_expiries ->> '${channel}'`,
      }));
    }
    return [{ name, cell: cellSql(sql ? `(${sql})` : `p."${name}"`, type) }];
  });
}
