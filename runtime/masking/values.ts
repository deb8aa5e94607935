import { visible } from "#runtime/visible-text.ts";

const EMAIL =
  /([\p{L}\p{N}])[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]*@([\p{L}\p{N}])[\p{L}\p{N}.-]*\.([\p{L}]{2,})/gu;
const E164 = /\+([1-9])\d{2,10}(\d{4})(?!\d)/g;
/** A phone number as people write it. It is searched only in values that people submitted. */
const WRITTEN_NUMBER = /^[+\d(][\d\s().-]{5,18}(\d{4})$/;

/** Fields that identify a person by themselves, each with its masked form. */
const FIELDS: Readonly<Record<string, (text: string) => string>> = {
  first_name: initial,
  last_name: initial,
  birth_date: (text) => `${text.slice(0, 4)}-••-••`,
  ip: () => "•••",
  ip_address: () => "•••",
  user_agent: () => "•••",
};
/** A value that people submitted, whatever its form. */
const AS_WRITTEN = new Set(["value"]);
/** A row of a file, whose columns have names in any language. */
const FILE_ROW = "original_row";
/** Columns of files that tell nobody who a person is. */
const IMPERSONAL = new Set([
  ...["player_id", "tier", "adt", "coin_in", "lifetime_theo", "status", "timezone", "state", "country"],
  ...["language", "phone_type", "last_visit_at", "tags", "host_id"],
]);
/** A cell that is a masked address and no more. */
const MASKED_ADDRESS = /^(?:\S\*{3}@\S+|\+\d•{5}\d{4}|•{5}\d{4})$/;
/** The lines of a call. */
const TRANSCRIPT = "transcript";
/** Not about people, and only useful unmasked. */
const UNTOUCHED = new Set(["page", "audit_id"]);

function initial(text: string): string {
  return `${[...text][0] ?? ""}•••`;
}

/** Whether the whole value of the field is masked, whatever it is. */
export function isMaskedField(name: string): boolean {
  return Object.hasOwn(FIELDS, name);
}

/** Text without whole addresses: `j***@e***.com`, `+1•••••4567`. */
export function maskedText(text: string): string {
  return text.replace(EMAIL, "$1***@$2***.$3").replace(E164, "+$1•••••$2");
}

/** A value without personal data: addresses in any text, names and birth dates in their fields. */
export function maskedValue(value: unknown, field = "", written = false): unknown {
  if (typeof value === "string") return maskedString(value, field, written);
  if (field === TRANSCRIPT && Array.isArray(value)) return value.map(maskedLine);
  if (Array.isArray(value)) return value.map((one) => maskedValue(one, field, written));
  if (typeof value !== "object" || value === null) return value;
  if (field === FILE_ROW) return maskedCells(value);
  if (isColumnar(value)) return { ...maskedRecord(value, written), rows: maskedRows(value) };
  return maskedRecord(value, written);
}

/** People may say anything in a call, so only our fixed sentences stay. */
function maskedLine(line: unknown): unknown {
  if (typeof line !== "object" || line === null) return "•••";
  const isFixed = "fixed" in line && line.fixed !== null;
  return isFixed ? line : { ...line, text: "•••" };
}

/** The cell of a file, by the name of its column. Only what is known to be harmless is shown. */
export function maskedCell(text: string, column: string): string {
  const known = plainName(column);
  if (text === "" || IMPERSONAL.has(known)) return text;
  if (Object.hasOwn(FIELDS, known)) return FIELDS[known]!(text);
  const masked = maskedText(visible(text)).replace(WRITTEN_NUMBER, "•••••$1");
  return MASKED_ADDRESS.test(masked) ? masked : "•••";
}

function maskedCells(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      value === null ? null : maskedCell(typeof value === "string" ? value : JSON.stringify(value), column),
    ]),
  );
}

/** The rows of an import have the caller's own column names. */
const plainName = (field: string) => field.toLowerCase().replaceAll(/[^a-z]+/g, "_");

function maskedRecord(record: object, written: boolean): Record<string, unknown> {
  const refused = refusedCell(record);
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      UNTOUCHED.has(name) ? value : maskedMember(name, value, { refused, written }),
    ]),
  );
}

interface Among {
  refused: RefusedCell | null;
  written: boolean;
}

function maskedMember(name: string, value: unknown, { refused, written }: Among): unknown {
  if (refused && name === "value") return maskedCell(refused.value, refused.column);
  return maskedValue(value, name, written || AS_WRITTEN.has(name));
}

interface RefusedCell {
  column: string;
  value: string;
}

/** The cell for which an import has refused a row. */
function refusedCell(record: object): RefusedCell | null {
  if (!(FILE_ROW in record)) return null;
  const { column, value } = record as { column?: unknown; value?: unknown };
  return typeof value === "string" ? { column: String(column), value } : null;
}

interface Columnar {
  columns: string[];
  rows: unknown[][];
}

function isColumnar(value: object): value is Columnar {
  return "format" in value && value.format === "columns" && "rows" in value && "columns" in value;
}

function maskedRows({ columns, rows }: Columnar): unknown[][] {
  return rows.map((row) => {
    const refused = refusedCell(Object.fromEntries(columns.map((name, index) => [name, row[index]])));
    return row.map((value, index) => maskedMember(columns[index] ?? "", value, { refused, written: false }));
  });
}

function maskedString(text: string, field: string, written: boolean): string {
  if (text === "") return text;
  const known = plainName(field);
  if (Object.hasOwn(FIELDS, known)) return FIELDS[known]!(text);
  const masked = maskedText(visible(text));
  return written ? masked.replace(WRITTEN_NUMBER, "•••••$1") : masked;
}
