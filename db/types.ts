/**
 * How values travel. The array types are listed here: postgres.js otherwise queries them on every new connection, and
 * drops the error when that connection breaks.
 */
export const types = {
  date: { to: 1184, from: [1184], serialize: String, parse: isoTime },
  calendar: { to: 1082, from: [1082], serialize: String, parse: String },
  // postgres.js would read a clock's time by the zone of the process.
  clock: { to: 1114, from: [1114], serialize: String, parse: String },
  bigint: { to: 20, from: [20], serialize: String, parse: Number },
  booleans: arrayType(1000, (text) => text === "t"),
  byteas: arrayType(1001, (text) => Buffer.from(text.slice(2), "hex")),
  integers: arrayType(1007, Number),
  bigints: arrayType(1016, Number),
  doubles: arrayType(1022, Number),
  numerics: arrayType(1231, String),
  names: arrayType(1003, String),
  texts: arrayType(1009, String),
  dates: arrayType(1182, String),
  timestamps: arrayType(1185, isoTime),
  uuids: arrayType(2951, String),
  jsonbs: arrayType(3807, (text) => JSON.parse(text) as unknown),
};

/** The same types for callers that pass JSON on unparsed. */
export const jsonAsText = {
  ...types,
  json: { to: 114, from: [114, 3802], serialize: String, parse: String },
};

/** PostgreSQL's text form of a time as ISO 8601 in UTC, microseconds kept. */
function isoTime(text: string): string {
  return `${text.replace(" ", "T")}:00`;
}

function arrayType(oid: number, parse: (text: string) => unknown) {
  return {
    to: oid,
    from: [oid],
    serialize: (values: unknown) => (Array.isArray(values) ? arrayLiteral(values) : String(values)),
    parse: (text: string) => parseArray(text).map((item) => (item === null ? null : parse(item))),
  };
}

/** A flat array in PostgreSQL's own notation. */
export function arrayLiteral(values: unknown[]): string {
  return `{${values.map(itemLiteral).join(",")}}`;
}

/**
 * Hex as the array `$1::bytea[]`. `decode($1, 'hex')` would keep a column's index from use: it is not leakproof, and
 * row-level security is on.
 */
export function byteaLiteral(hexes: readonly string[]): string {
  return arrayLiteral(hexes.map((hex) => `\\x${hex}`));
}

function itemLiteral(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  const text = Buffer.isBuffer(value)
    ? `\\x${value.toString("hex")}`
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

const ITEM = /"((?:[^"\\]|\\.)*)"|([^,{}]+)/gs;

/** The items of a flat array literal. */
function parseArray(text: string): (string | null)[] {
  return [...text.matchAll(ITEM)].map(([, quoted, bare]) => {
    if (quoted !== undefined) return quoted.replace(/\\(.)/gs, "$1");
    return bare === "NULL" ? null : bare!;
  });
}

/** Stands for a missing id, and sorts before every id. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";
