import { setImmediate as nextTurn } from "node:timers/promises";
import type { Sql } from "./client.ts";

const BLOCK = 131_072;
const SPECIAL = /[\\\t\n\r]/;
const SPECIALS = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** One row in COPY's text form: the values as PostgreSQL prints them, null for NULL. They hold no NUL. */
export function copyLine(values: readonly (string | null)[]): string {
  let line = "";
  for (let i = 0; i < values.length; i++) {
    if (i > 0) line += "\t";
    const value = values[i];
    if (value === null || value === undefined) line += "\\N";
    else
      line += SPECIAL.test(value) ? value.replace(SPECIALS, (character) => ESCAPES[character] ?? "") : value;
  }
  return `${line}\n`;
}

/** Bytes as PostgreSQL prints a bytea. */
export function copyBytes(bytes: Buffer | null): string | null {
  return bytes === null ? null : `\\x${bytes.toString("hex")}`;
}

/**
 * COPY into a table by the transaction's own connection. Names come from code, never from a request. Nothing
 * else may run on the transaction meanwhile.
 */
export async function copyIn(
  sql: Sql,
  table: string,
  columns: readonly string[],
  lines: Iterable<string>,
): Promise<void> {
  const stream = await sql.unsafe(`copy ${table} (${columns.join(", ")}) from stdin`).writable();
  let refused: Error | undefined;
  stream.on("error", (error) => {
    refused = error;
  });
  const write = (block: string) =>
    new Promise<void>((resolve, reject) => {
      stream.write(block, "utf8", (error) => (error ? reject(error) : resolve()));
    });
  let block = "";
  for (const line of lines) {
    block += line;
    if (block.length < BLOCK) continue;
    await write(block);
    block = "";
  }
  if (block !== "") await write(block);
  if (refused) throw refused;
  stream.end();
  await nextTurn();
  // The driver (3.4.9) forgets a refusal that comes after the last byte, and "finish" then never comes. The
  // next statement tells: it fails in a transaction that COPY has aborted.
  await sql`select`;
}
