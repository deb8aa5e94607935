import { cellSql, csvLine, jsonCellSql } from "#db/csv.ts";
import { literal, type Source } from "#db/flow.ts";
import { arrayLiteral } from "#db/types.ts";
import { shapeOf } from "#runtime/columns.ts";
import players from "./players.table.ts";

/** One boolean over `players p`, whose placeholders follow the property's. */
export interface Audience {
  text: string;
  params: (string | number | boolean | (string | number)[])[];
}

const CHANNELS = ["sms", "email", "voice", "push"];
/** Keys of custom fields that an import knows by their column; others stay together in the column custom. */
const COLUMN_KEY = "^[a-zA-Z][a-zA-Z0-9_]{0,39}$";
const MOST_KEYS = 400;
/** Most keys occur soon, and are then quickly told from new ones. */
const SAMPLE = 1000;

/** The players of an audience, newest first, as CSV: every column, consent by channel, custom fields by key. */
export function playersCsv(property: string, audience: Audience, limit: number): Source {
  const columns = fixedColumns();
  return async function* (sql, copy) {
    // Known before anything is read, so the receiver sees at once that the file comes.
    yield Buffer.from(csvLine(columns.map(({ name }) => name)).replace("\n", ","));
    const rows = (columns: string, most: number) => `select ${columns} from players p
      where p.property_id = ${literal(property)}::uuid and ${inlined(property, audience)}
      order by p.created_at desc, p.id desc limit ${most}`;
    const distinct = (most: number, known: string[]) =>
      sql.unsafe<{ key: string }[]>(`select distinct key
        from (${rows("p.custom", most)}) r cross join lateral jsonb_object_keys(${without("r.custom", known)}) key
        where ${without("r.custom", known)} <> '{}' and key ~ '${COLUMN_KEY}'
          and key not in ('constructor', 'prototype') limit ${MOST_KEYS}`);
    const first = (await distinct(SAMPLE, [])).map(({ key }) => key);
    const later = limit > SAMPLE ? (await distinct(limit, first)).map(({ key }) => key) : [];
    const keys = [...first, ...later].sort().slice(0, MOST_KEYS);
    yield Buffer.from(csvLine([...keys.map((key) => `custom.${key}`), "custom"]));
    const cells = [
      ...columns.map(({ cell }) => cell),
      ...keys.map((key) => jsonCellSql("p.custom", literal(key))),
      `nullif(${without("p.custom", keys)}, '{}')::text`,
    ];
    yield* copy(rows(cells.join(", "), limit));
  };
}

function without(object: string, keys: string[]): string {
  return keys.length === 0 ? object : `(${object} - ${literal(arrayLiteral(keys))}::text[])`;
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
