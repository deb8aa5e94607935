import { setImmediate as nextIteration, setTimeout } from "node:timers/promises";
import type postgres from "postgres";
import { command } from "#db/connection/open.ts";
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
  const statement = `copy ${table} (${columns.join(", ")}) from stdin`;
  await copyPieces(driverOf(sql), statement, blocksOf(lines));
}

function* blocksOf(lines: Iterable<string>): Generator<string> {
  let block = "";
  for (const line of lines) {
    block += line;
    if (block.length < BLOCK) continue;
    yield block;
    block = "";
  }
  if (block !== "") yield block;
}

/** Sends the pieces to a COPY from stdin. Nothing else may run on the connection meanwhile. */
export async function copyPieces(
  sql: Pick<postgres.Sql, "unsafe">,
  statement: string,
  pieces: Iterable<string> | AsyncIterable<Buffer>,
): Promise<void> {
  const stream = await command(sql, statement).writable();
  // A lost connection destroys the stream without calling back for the pending write.
  const broken = new Promise<never>((_, reject) => {
    // The stream learns of it just before the pool does, and a rollback sent in between gets no answer.
    stream.once("error", (error) => void setTimeout(LOSS_SETTLES).then(() => reject(error)));
  });
  broken.catch(() => {});
  const write = (piece: string | Buffer) =>
    Promise.race([
      broken,
      new Promise<void>((resolve) => {
        stream.write(piece, (error) => {
          if (!error) resolve();
        });
      }),
    ]);
  for await (const piece of pieces) await write(piece);
  stream.end();
  await nextIteration();
  // The driver (3.4.9) drops an error that arrives after the last byte, and then never emits "finish". The next
  // statement reveals it: it fails in the transaction that COPY has aborted.
  await command(sql, "select");
}
