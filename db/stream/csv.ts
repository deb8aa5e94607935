import type { ColumnType } from "#db/query/readable-table.ts";
import { type Fragment, sql } from "#db/sql.ts";

// A text that already starts with an apostrophe and such a character gets one more, which `readCell` removes.
const RISKY = /^'*[=+\-@\t\r\n＝＋－＠]/;
const HARMLESS = /^(?:-?\d+(?:\.\d+)?|\+[1-9]\d{6,14})$/;

/**
 * A text as a CSV cell that no spreadsheet executes: an apostrophe stands before a leading `= + - @`, TAB, CR or LF. It
 * also stands before their full-width forms, which some spreadsheets read as formulas. Numbers and E.164 phones stay
 * unchanged. `readCell` removes the apostrophe.
 */
export function safeCell(text: string): string {
  return RISKY.test(text) && !HARMLESS.test(text) ? `'${text}` : text;
}

/** Reverses `safeCell`. */
export function readCell(cell: string): string {
  return cell.startsWith("'") && RISKY.test(cell) ? cell.slice(1) : cell;
}

/** `safeCell` in SQL, over a text expression. */
export function safeCellSql(text: Fragment): Fragment {
  // Testing the first character alone costs 30 ns, the patterns a microsecond.
  return sql`case when ascii(${text}) in (9, 10, 13, 39, 43, 45, 61, 64, 65291, 65293, 65309, 65312)
    and ${text} ~ '^''*[-=+@\\t\\r\\n＝＋－＠]'
    and ${text} !~ '^(-?[0-9]+(\\.[0-9]+)?|\\+[1-9][0-9]{6,14})$' then '''' || ${text} else ${text} end`;
}

/** A number as a text with one reading: of 1.234 a file's reader cannot tell thousands from decimals, of 1.2340 it can. */
function clearNumber(text: string): string {
  return /\.\d{3}$/.test(text) ? `${text}0` : text;
}

/** `clearNumber` in SQL, over a text expression. */
export function clearNumberSql(text: Fragment): Fragment {
  return sql`case when ${text} like '%.___' then ${text} || '0' else ${text} end`;
}

/** An expression of a type as one CSV cell. Times are ISO 8601; semicolons join a list where possible. */
export function cellSql(value: Fragment, type: ColumnType): Fragment {
  if (type === "text") return safeCellSql(value);
  if (type === "double precision") return clearNumberSql(sql`${value}::text`);
  if (type === "boolean" || type === "jsonb") return sql`${value}::text`;
  // The format of the lists' JSON; the session's zone is UTC.
  if (type === "timestamptz") return sql`replace(${value}::text, ' ', 'T') || ':00'`;
  if (type === "text[]" || type === "uuid[]") return listSql(value);
  return value;
}

function listSql(list: Fragment): Fragment {
  const joined = sql`nullif(array_to_string(${list}, ';'), '')`;
  // A list that the import would split or read as JSON goes out as JSON.
  return sql`case when array_to_string(${list}, '') ~ '[][;|,]' then to_jsonb(${list})::text
    else ${safeCellSql(joined)} end`;
}

/** Rows of JSON as CSV, by the rules of `cellSql`. */
export function csvRows(
  names: readonly string[],
  rows: readonly Record<string, unknown>[],
  typeOf: (name: string) => ColumnType | undefined,
): string {
  const lines = rows.map((row) => csvLine(names.map((name) => cellOf(row[name], typeOf(name)))));
  return [csvLine(names), ...lines].join("");
}

function cellOf(value: unknown, type: ColumnType | undefined): string {
  if (value === null || value === undefined) return "";
  if (type !== "jsonb" && isTexts(value)) return listCell(value);
  if (type === "jsonb" || typeof value === "object") return jsonText(value);
  return typeof value === "string" ? safeCell(value) : clearNumber(String(value));
}

/** JSON with PostgreSQL's spacing. */
function jsonText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(", ")}]`;
  const fields = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${jsonText(one)}`);
  return `{${fields.join(", ")}}`;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function listCell(values: string[]): string {
  return /[\][;|,]/.test(values.join("")) ? jsonText(values) : safeCell(values.join(";"));
}

/** One record of texts as CSV. */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${quoted.join(",")}\n`;
}
