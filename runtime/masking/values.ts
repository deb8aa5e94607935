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
/** Data that people submitted, under their own names of fields. */
const AS_WRITTEN = new Set(["original_row", "value"]);
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
  if (isColumnar(value)) return { ...maskedRecord(value, written), rows: maskedRows(value) };
  return maskedRecord(value, written);
}

/** People may say anything in a call, so only our fixed sentences stay. */
function maskedLine(line: unknown): unknown {
  if (typeof line !== "object" || line === null) return "•••";
  const isFixed = "fixed" in line && line.fixed !== null;
  return isFixed ? line : { ...line, text: "•••" };
}

function maskedRecord(record: object, written: boolean): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      UNTOUCHED.has(name) ? value : maskedValue(value, name, written || AS_WRITTEN.has(name)),
    ]),
  );
}

interface Columnar {
  columns: string[];
  rows: unknown[][];
}

function isColumnar(value: object): value is Columnar {
  return "format" in value && value.format === "columns" && "rows" in value && "columns" in value;
}

function maskedRows({ columns, rows }: Columnar): unknown[][] {
  return rows.map((row) =>
    row.map((value, index) => maskedValue(value, columns[index], AS_WRITTEN.has(columns[index] ?? ""))),
  );
}

function maskedString(text: string, field: string, written: boolean): string {
  if (text === "") return text;
  // The rows of an import have the caller's own column names.
  const known = field.toLowerCase().replaceAll(/[^a-z]+/g, "_");
  if (Object.hasOwn(FIELDS, known)) return FIELDS[known]!(text);
  const masked = maskedText(visible(text));
  return written ? masked.replace(WRITTEN_NUMBER, "•••••$1") : masked;
}
