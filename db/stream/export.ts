import type postgres from "postgres";
import { type Client, ConnectionLost, command, DeadlineExceeded, type Pool } from "#db/connection/open.ts";
import { type Fragment, inlined } from "#db/sql.ts";
import { copyOut } from "./copy-out.ts";

/** Produces the bytes in one read-only transaction of the tenant, one snapshot. `copy` runs a query by COPY. */
export type ExportSource = (copy: (query: Fragment) => AsyncIterable<Buffer>) => AsyncIterable<Buffer>;

/** Bytes that leave the database at the receiver's pace. */
export interface ExportStream {
  /** The next piece, or null at the end. Throws the database's error; the connection is given back then. */
  next(): Promise<Buffer | null>;
  /** Stops the query in the database and gives the connection back. It does nothing after the end. */
  cancel(): Promise<void>;
}

/** Milliseconds. */
export interface ExportLimits {
  /** The longest time in which neither the receiver nor the database moves. */
  stall: number;
  /** The longest time of the whole export. */
  whole: number;
}

export const EXPORT_LIMITS: ExportLimits = { stall: 60_000, whole: 300_000 };

interface Running {
  pool: Pool;
  client: Client;
  /** The statements that make the transaction the tenant's. */
  opening: readonly string[];
  limits: ExportLimits;
  stopQuery: (backend: number) => Promise<void>;
  /** Called once, when the client has been given back. */
  onEnd(): void;
}

/** Streams the source's bytes on a client, which is given back at the end in any case. */
export function startExport(running: Running, source: ExportSource): ExportStream {
  const { pool, client, opening, limits, stopQuery, onEnd } = running;
  const { sql } = client;
  let backend = 0;
  let ended: "whole" | Error | null = null;
  let interrupt: (error: Error) => void = () => {};
  const pieces = (async function* () {
    backend = await begin(sql, opening);
    yield* source((query) => copyOut(sql, `copy (${inlined(query)}) to stdout (format csv)`));
    await command(sql, "commit");
  })();

  const late = (reason: string) => void fail(new DeadlineExceeded(reason));
  const stall = setTimeout(late, limits.stall, "the export stood still for too long");
  const whole = setTimeout(late, limits.whole, "the export took too long as a whole");
  const onLost = () => void fail(new ConnectionLost());
  client.onLost.add(onLost);
  const end = (how: "whole" | Error) => {
    ended = how;
    clearTimeout(stall);
    clearTimeout(whole);
    client.onLost.delete(onLost);
  };
  const fail = async (error: Error): Promise<void> => {
    if (ended) return;
    end(error);
    interrupt(error);
    // The connection is cut, because draining it would read the rest first. A query that sends nothing outlives the
    // cut, so it is cancelled too.
    pool.discard(client);
    if (backend > 0) await stopQuery(backend);
    onEnd();
  };
  return {
    next: async () => {
      if (ended === "whole") return null;
      if (ended) throw ended;
      stall.refresh();
      try {
        const { value, done } = await new Promise<IteratorResult<Buffer>>((resolve, reject) => {
          interrupt = reject;
          pieces.next().then(resolve, reject);
        });
        stall.refresh();
        if (!done) return value;
      } catch (error) {
        await fail(error as Error);
        throw error;
      }
      end("whole");
      pool.give(client);
      onEnd();
      return null;
    },
    cancel: () => fail(new DeadlineExceeded("nobody takes the export any more")),
  };
}

/** Begins the transaction; answers the backend's process id. */
async function begin(sql: postgres.Sql, opening: readonly string[]): Promise<number> {
  const statements = ["begin isolation level repeatable read read only", ...opening];
  const begun = Promise.all(statements.map((text) => command(sql, text).simple().execute()));
  const backend = command<[{ pid: number }]>(sql, "select pg_backend_pid() as pid");
  const [[{ pid }]] = await Promise.all([backend, begun]);
  return pid;
}
