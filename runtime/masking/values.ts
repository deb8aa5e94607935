import { bare } from "#runtime/visible-text.ts";

/** It begins at the sign, so that a long text without one is read once; the part before it has a bound. */
const EMAIL =
  /(?<=([\p{L}\p{N}][\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]{0,320}))(?:@|%40)([\p{L}\p{N}])[\p{L}\p{N}.-]*\.([\p{L}]{2,})/gu;
const E164 = /\+([1-9])\d{2,10}(\d{4})(?!\d)/g;
/** A phone number as people write it. It is searched only in values that people submitted. */
const WRITTEN_NUMBER = /^[+\d(][\d\s().-]{5,18}(\d{4})$/;

/** A player as our own sentences name one. */
const NAMED_PLAYER = /the player ("(?:[^"\\]|\\.)*"), "((?:[^"\\]|\\.)*)"/g;

/** Fields that identify a person by themselves or hold words of or about one, each with its masked form. */
const FIELDS: Readonly<Record<string, (text: string) => string>> = {
  first_name: initial,
  last_name: initial,
  birth_date: (text) => `${text.slice(0, 4)}-••-••`,
  postal_code: (text) => `${text.slice(0, 2)}•••`,
  ip: leftOut,
  ip_address: leftOut,
  user_agent: leftOut,
  note: leftOut,
  consent_text: leftOut,
  notice: leftOut,
  external_ref: leftOut,
  client_seed: leftOut,
  void_reason: leftOut,
  redeemed_by: leftOut,
  // A value of the event that began the enrollment.
  entry_key: leftOut,
  response_snippet: leftOut,
};
/** A value as people submitted it: an email, a phone, or neither. */
const AS_WRITTEN = new Set(["value", "address", "email", "phone", "recipient", "sender"]);
/** Words of vendors, who repeat numbers in any form. */
const VENDORS_WORDS = new Set(["error", "error_message", "last_error", "reply_error"]);
const REPEATED_NUMBER = /(?<![\w+])\(?\d[\d\s().-]{5,18}(\d{4})(?!\w)/g;
/** Origins in words, or the address of a page with what its form has sent. */
const SOURCES = new Set(["consent_source", "source"]);
const SENT_FIELDS = /(?<=^https?:\/\/[^?#]*)[?#].*$/s;
/** The player's own fields in rules. */
const CUSTOM_FIELD = /(?:^|\.)custom\./;
/** A row of a file, whose columns have names in any language. */
const FILE_ROW = "original_row";
/** A player's own fields, which the property names. */
const CUSTOM = "custom";
/** Values of events, named by those who send them. */
const EVENT_VALUES = new Set(["properties", "context"]);
/** Of such a number nobody knows whether it is a person's. A shorter one is an amount. */
const LONG_NUMBER = 1_000_000;
/** Documents of the house, which are read, changed and written again: they are about nobody. */
const DOCUMENTS = new Set(["definition", "draft_definition"]);
/** Columns of files that tell nobody who a person is. */
const IMPERSONAL = new Set([
  ...["player_id", "tier", "adt", "coin_in", "lifetime_theo", "status", "timezone", "state", "country"],
  ...["language", "phone_type", "last_visit_at", "tags", "host_id"],
]);
/** A cell that is a masked address and no more. */
const MASKED_ADDRESS = /^(?:\S\*{3}@\S+|\+\d•{5}\d{4}|•{5}\d{4})$/;
/** A value as masking leaves it, or a text with a masked address. */
const MASKED_FORM = /^(?:.{0,2}•••|\d{4}-••-••)$|•{5}\d{4}|\S\*{3}@\S/u;
/** The lines of a call. */
const TRANSCRIPT = "transcript";
/** Not about people, and only useful unmasked. */
const UNTOUCHED = new Set(["page", "audit_id"]);

/** Fields whose values cannot be guessed by filters, because answers mask them. */
export const GUARDED: readonly string[] = [
  ...Object.keys(FIELDS),
  ...[FILE_ROW, CUSTOM, ...EVENT_VALUES, ...VENDORS_WORDS, TRANSCRIPT, "diff", "attempts"],
  // Of proposals: they may name a player.
  ...["title", "sentences", "input"],
];

function leftOut(): string {
  return "•••";
}

function initial(text: string): string {
  return `${[...text][0] ?? ""}•••`;
}

function initials(name: string): string {
  return name.split(" ").map(initial).join(" ");
}

/** Whether every value of the field is masked as a whole. */
export function isMaskedField(name: string): boolean {
  return Object.hasOwn(FIELDS, name);
}

export function isMaskedForm(text: string): boolean {
  return MASKED_FORM.test(text);
}

function maskedEmails(text: string): string {
  let masked = "";
  let end = 0;
  for (const { 0: rest, 1: before = "", 2: host, 3: top, index } of text.matchAll(EMAIL)) {
    const local = text.slice(Math.max(end, index - before.length), index).replace(/^[^\p{L}\p{N}]+/u, "");
    if (local === "") continue;
    masked += `${text.slice(end, index - local.length)}${[...local][0]}***@${host}***.${top}`;
    end = index + rest.length;
  }
  return masked + text.slice(end);
}

/** Text without whole addresses: `j***@e***.com`, `+1•••••4567`. */
export function maskedText(text: string): string {
  return maskedEmails(text)
    .replace(E164, "+$1•••••$2")
    .replace(NAMED_PLAYER, (_, number: string, name: string) => `the player ${number}, "${initials(name)}"`);
}

/** A value without personal data: addresses in any text, names and birth dates in their fields. */
export function maskedValue(value: unknown, field = "", written = false): unknown {
  if (typeof value === "string") return maskedString(value, field, written);
  if (field === TRANSCRIPT && Array.isArray(value)) return value.map(maskedLine);
  if (field === CUSTOM) return maskedLeaves(value, false);
  if (EVENT_VALUES.has(field)) return maskedLeaves(value, true);
  if (DOCUMENTS.has(field)) return withoutAddresses(value);
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
  const masked = maskedText(bare(text)).replace(WRITTEN_NUMBER, "•••••$1");
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

/** Values whose names are the property's own. Only booleans and, among `amounts`, short numbers tell of nobody. */
function maskedLeaves(value: unknown, amounts: boolean): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") return amounts && Math.abs(value) < LONG_NUMBER ? value : "•••";
  if (typeof value === "string") return maskedCell(value, "");
  if (Array.isArray(value)) return value.map((one) => maskedLeaves(one, amounts));
  return mapped(Object(value), (one) => maskedLeaves(one, amounts));
}

function withoutAddresses(value: unknown): unknown {
  if (typeof value === "string") return maskedText(value);
  if (Array.isArray(value)) return value.map(withoutAddresses);
  return typeof value === "object" && value !== null ? mapped(value, withoutAddresses) : value;
}

function mapped(record: object, change: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** The rows of an import have the caller's own column names. Inputs may be in camel case. */
const plainName = (field: string) =>
  field
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, "_");

function maskedRecord(record: object, written: boolean): Record<string, unknown> {
  const refused = refusedColumn(record);
  const rule = ruleField(record);
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      UNTOUCHED.has(name)
        ? value
        : rule !== null && name === "value"
          ? maskedOperand(value, rule)
          : maskedMember(name, value, { refused, written }),
    ]),
  );
}

interface Among {
  refused: string | null;
  written: boolean;
}

function maskedMember(name: string, value: unknown, { refused, written }: Among): unknown {
  if (refused !== null && name === "value" && typeof value === "string") return maskedCell(value, refused);
  if (refused !== null && name === "examples" && Array.isArray(value)) {
    return value.map((one) => maskedCell(String(one), refused));
  }
  return maskedValue(value, name, written || AS_WRITTEN.has(name));
}

/** The field that a rule row compares. */
function ruleField(record: object): string | null {
  return "field" in record && "operator" in record && typeof record.field === "string" ? record.field : null;
}

/** The operand of a rule about a masked field is somebody's value. */
function maskedOperand(value: unknown, field: string): unknown {
  if (Array.isArray(value)) return value.map((one) => maskedOperand(one, field));
  if (typeof value === "string" && CUSTOM_FIELD.test(field)) return leftOut();
  return maskedValue(value, isMaskedField(field) ? field : "value");
}

/** The column for whose cells an import has refused a row, or several. */
function refusedColumn(record: object): string | null {
  const isRefused = FILE_ROW in record || "examples" in record;
  return isRefused && "column" in record ? String(record.column) : null;
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
    const refused = refusedColumn(Object.fromEntries(columns.map((name, index) => [name, row[index]])));
    return row.map((value, index) => maskedMember(columns[index] ?? "", value, { refused, written: false }));
  });
}

function maskedString(text: string, field: string, written: boolean): string {
  if (text === "") return text;
  const known = plainName(field);
  if (Object.hasOwn(FIELDS, known)) return FIELDS[known]!(text);
  const plain = bare(text);
  const masked = maskedForm(plain, known, written);
  // Without anything to mask it stays whole: the answer marks the characters that turn its letters around.
  return masked === plain ? text : masked;
}

function maskedForm(plain: string, known: string, written: boolean): string {
  const masked = maskedText(SOURCES.has(known) ? plain.replace(SENT_FIELDS, "") : plain);
  if (VENDORS_WORDS.has(known)) return masked.replace(REPEATED_NUMBER, "•••••$1");
  return written || AS_WRITTEN.has(known) ? masked.replace(WRITTEN_NUMBER, "•••••$1") : masked;
}
