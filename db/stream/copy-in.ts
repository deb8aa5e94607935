import { setImmediate as nextIteration, setTimeout } from "node:timers/promises";
import { driverOf, type Sql } from "#db/sql.ts";

const BLOCK = 131_072;
/** Milliseconds until the pool knows of a lost connection. */
const LOSS_SETTLES = 50;
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
 * Copies rows into a table on the transaction's own connection. Names come from code, never from a request. No other
 * statement may run on the transaction meanwhile.
 */
export async function copyIn(
  sql: Sql,
  table: string,
  columns: readonly string[],
  lines: Iterable<string>,
): Promise<void> {
  const stream = await driverOf(sql)
    .unsafe(`copy ${table} (${columns.join(", ")}) from stdin`)
    .writable();
  // A lost connection destroys the stream without calling back for the pending write.
  const broken = new Promise<never>((_, reject) => {
    // The stream learns of it just before the pool does, and a rollback sent in between gets no answer.
    stream.once("error", (error) => void setTimeout(LOSS_SETTLES).then(() => reject(error)));
  });
  broken.catch(() => {});
  const write = (part: string) =>
    Promise.race([
      broken,
      new Promise<void>((resolve) => {
        stream.write(part, "utf8", (error) => {
          if (!error) resolve();
        });
      }),
    ]);
  let block = "";
  for (const line of lines) {
    block += line;
    if (block.length < BLOCK) continue;
    await write(block);
    block = "";
  }
  if (block !== "") await write(block);
  stream.end();
  await nextIteration();
  // The driver (3.4.9) drops an error that arrives after the last byte, and then never emits "finish". The next
  // statement reveals it: it fails in the transaction that COPY has aborted.
  await sql`select`;
}
