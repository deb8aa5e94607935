import { setImmediate as nextTurn, setTimeout } from "node:timers/promises";
import { driverOf, type Sql } from "#db/sql.ts";

const BLOCK = 131_072;
/** Milliseconds after which a lost connection is known as lost. */
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
 * COPY into a table by the transaction's own connection. Names come from code, never from a request. Nothing
 * else may run on the transaction meanwhile.
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
  // A lost connection destroys the stream without calling back for what is being written.
  const broken = new Promise<never>((_, reject) => {
    // The stream hears of it just before the pool does, and a rollback sent in between is never answered.
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
  await nextTurn();
  // The driver (3.4.9) forgets a refusal that comes after the last byte, and "finish" then never comes. The
  // next statement tells: it fails in a transaction that COPY has aborted.
  await sql`select`;
}
