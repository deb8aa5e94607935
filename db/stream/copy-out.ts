import { Readable } from "node:stream";
import type postgres from "postgres";
import { command } from "#db/connection/open.ts";

/** The bytes of a COPY to stdout, in pieces as large as have come. Nothing else may run on the connection meanwhile. */
export async function* copyOut(sql: postgres.Sql, statement: string): AsyncGenerator<Buffer> {
  const stream = await openStream(sql, statement);
  for await (const piece of stream) yield piece as Buffer;
  // The driver (3.4.9) leaves the socket paused when the last bytes came faster than they were read.
  stream._read(0);
}

/**
 * The stream of a COPY. The driver (3.4.9) tells it of an error, which ends the process where nobody listens, before
 * an `await` could: so it is listened to as soon as it is made.
 */
function openStream(sql: postgres.Sql, statement: string): Promise<Readable> {
  const copying = command(sql, statement);
  const { resolve } = copying as typeof copying & { resolve(answer: unknown): void };
  // Called once more, with the command's result, when all has been copied.
  const listened = (answer: unknown) => {
    if (answer instanceof Readable) answer.on("error", () => {});
    resolve(answer);
  };
  return Object.assign(copying, { resolve: listened }).readable();
}
