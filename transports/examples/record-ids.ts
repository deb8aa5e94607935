import { createHash } from "node:crypto";

const PREFIX = "00000000-0000-7000-8000-";

/** The id by which examples name a record of a table. The demo has another one in its place. */
export function exampleId(table: string): string {
  return PREFIX + createHash("sha256").update(table).digest("hex").slice(0, 12);
}

/** A text with the examples' ids replaced by those of records that exist. */
export function withRecords(text: string, records: ReadonlyMap<string, string>): string {
  if (records.size === 0) return text;
  return text.replaceAll(new RegExp(`${PREFIX}[0-9a-f]{12}`, "g"), (id) => records.get(id) ?? id);
}
