import type { ZodType } from "zod";
import { isCleared } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";
import { NOWHERE, schemaOf } from "../../support/operation-calls.ts";

const long = "x".repeat(20_000);

/** Values that few fields take, or none. As JSON text, because JavaScript cannot hold all of them. */
const VALUES = [
  ...[null, true, -1, 0.5, 2 ** 53, -1e308, 4_294_967_296].map((value) => JSON.stringify(value)),
  ...["1e999", "-1e999", '{"__proto__":{"a":1}}', '{"constructor":{"prototype":{}}}'],
  ...["", " ", "\0", "a\0b", "\ud800", "a\udc00", long, "\u202e\u0007", "NaN", "Infinity", "-0"].map((text) =>
    JSON.stringify(text),
  ),
  ...["' or 1=1 --", "$1", "{{ x }}", "{% if %}", "../../etc/passwd", "%00", "🎰".repeat(500)].map((text) =>
    JSON.stringify(text),
  ),
  ...["2026-02-30T25:61:00Z", "9999999-01-01", "not-a-uuid", "00000000-0000-7000-8000-00000000000'"].map(
    (text) => JSON.stringify(text),
  ),
  ...[[], [null], [[[]]], [{}], ["\0"], {}, { a: { b: [1] } }, { "a\0": 1 }].map((value) =>
    JSON.stringify(value),
  ),
  `${"[".repeat(70)}${"]".repeat(70)}`,
];
/** Of these none is ever stored, wherever it stands. */
const NEVER = /\\u0000|\\ud800|\\udc00|1e999|\[{70}/;

/** Bodies that are no input at all. */
export const BODIES: (string | Uint8Array)[] = [
  ...'{|null|true|1|-|"text"|{\'a\':1}|{"a":1}{"b":2}|{"a":}|\u0000|{]|[1]|[[]]|[null]'.split("|"),
  Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from([0xef, 0xbb, 0xbf, 0x7b]),
  `{"__proto__":{"a":1}}`,
  `{"constructor":1}`,
  `{"no_such_field":1}`,
  `${'{"a":'.repeat(70)}1${"}".repeat(70)}`,
];

/** Headers that no request may carry. */
export const HEADERS: Record<string, string>[] = [
  { "Idempotency-Key": "x".repeat(256) },
  { "Idempotency-Key": "Zoë" },
  { "API-Version": "latest" },
  { "API-Version": "2020-01-01" },
  { "X-Property-Id": "mine" },
  { "Content-Type": "text/xml" },
  { "Content-Type": "application/json; charset=utf-16" },
  { "X-Api-Key": `pk_${"x".repeat(36)}` },
  { Authorization: "Bearer pk_short" },
];

/**
 * Bodies that are right but for one field, of those that the operation's own schema refuses or that are never stored.
 * A value that the schema refuses reaches no handler, so the first of fields with one name and schema is enough: `seen` has
 * those of the operations before. Each is made when it is called for, and is null where the schema takes the value.
 */
export function badBodies(
  operation: Operation,
  good: Record<string, unknown>,
  seen: Set<string>,
): (() => string | null)[] {
  const { id: _id, ...fields } = schemaOf(operation).properties ?? {};
  const whole = "id" in operation.input.shape ? { id: NOWHERE, ...good } : good;
  return Object.entries(fields).flatMap(([field, schema]) => {
    const name = `${field} ${JSON.stringify(schema)}`;
    const values = seen.has(name) ? VALUES.filter((value) => NEVER.test(value)) : VALUES;
    seen.add(name);
    return values.map((value) => () => {
      const { [field]: _, ...rest } = good;
      const text = JSON.stringify(rest);
      const body = `${text.slice(0, -1)}${text === "{}" ? "" : ","}${JSON.stringify(field)}:${value}}`;
      if (NEVER.test(value)) return body;
      if (isTakenAsNone(operation, field, value)) return null;
      return operation.input.safeParse({ ...whole, [field]: JSON.parse(value) }).success ? null : body;
    });
  });
}

/** No property named means the credential's own; an empty text clears a text of a record. */
function isTakenAsNone({ crud, input, property }: Operation, field: string, value: string): boolean {
  if (field === property) return value === "null";
  const schema: ZodType | undefined = input.shape[field];
  return crud !== undefined && /^"\s*"$/.test(value) && schema !== undefined && isCleared(schema);
}

/** Queries of a list, a wrong one for each column and each way to be wrong. */
export function badQueries({ columns }: Pick<Table, "columns">): string[] {
  const names = ["id", "property_id", "created_at", ...Object.keys(columns)];
  const each = names.flatMap((name) => [
    `${name}.resembles=1`,
    `${name}=resembles.1`,
    `${name}.not.resembles=1`,
    `${name}=1`,
    `${name}.eq=%00`,
    `${name}.eq=%ED%A0%80`,
    `${name}.is=maybe`,
    `${name}.in=(1`,
    `order=${name}.upwards`,
    `order=${name}.asc.nullsmiddle`,
    `select=${name},no_such_column`,
    `${name}->a->>b.resembles=1`,
    `or=(${name}.resembles.1)`,
  ]);
  const whole = [
    "limit=0.5|limit=-1|limit=ten|limit=1001|limit=1e3|limit=1&limit=2|offset=-1|offset=1e400|cursor=x",
    "no_such_column.eq=1|__proto__.eq=1|constructor=eq.1|select=password_hash|order=|order=__proto__.asc|=1|.eq=1",
    "%00.eq=1|%ED%A0%80=1|property_id%20or%20true.eq=1|%27%20or%201=1",
  ];
  return [...each, ...whole.flatMap((line) => line.split("|"))];
}
