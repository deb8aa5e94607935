import { Readable } from "node:stream";
import { setTimeout as later } from "node:timers/promises";
import type postgres from "postgres";
import type { FlowLimits } from "./lanes.ts";
import { type Client, ConnectionLost, DeadlineExceeded, type Pool } from "./pool.ts";

/** Makes the bytes: one read-only transaction of the tenant, one snapshot. `copy` takes a query's text for COPY. */
export type Source = (
  sql: postgres.Sql,
  copy: (query: string) => AsyncIterable<Buffer>,
) => AsyncIterable<Buffer>;

/** Bytes that leave the database at the pace of whoever takes them. */
export interface Flow {
  /** The next piece, or null at the end. Throws what the database refuses; all is given back then. */
  next(): Promise<Buffer | null>;
  /** Stops what runs in the database and gives the connection back. Harmless at the end. */
  cancel(): Promise<void>;
  /** Milliseconds that its receiver is behind the pace. */
  lag(): number;
}

const ROLLBACK_DEADLINE = 5_000;
/** Bytes a millisecond that a receiver is expected to take. */
const PACE = 65;
/** Milliseconds that who was quick may be ahead of it: nobody earns a long rest. */
const MOST_AHEAD = 1_000;

interface Running {
  pool: Pool;
  client: Client;
  role: string;
  limits: FlowLimits;
  stopQuery: (backend: number) => Promise<void>;
  /** Gives the client up. */
  leave(how: (client: Client) => void): void;
}

/** Begins a flow on a client, which it gives up at its end, whatever that is. */
export function startFlow(running: Running, source: Source): Flow {
  const { pool, client, role, limits, stopQuery, leave } = running;
  const { sql } = client;
  let backend = 0;
  let state: "open" | "done" | Error = "open";
  let interrupt: (error: Error) => void = () => {};
  let drop: () => void = () => {};
  const receiver = receiverOf(limits, (reason) => void fail(new DeadlineExceeded(reason)));
  const whole = setTimeout(() => void fail(new DeadlineExceeded("it flowed for too long")), limits.whole);
  const settle = (how: "done" | Error) => {
    state = how;
    client.onLost.delete(onLost);
    clearTimeout(whole);
    receiver.end();
  };
  const fail = async (error: Error): Promise<void> => {
    if (state !== "open") return;
    settle(error);
    interrupt(error);
    if (backend > 0 && !client.lost) await stopQuery(backend);
    if (!client.lost) drop();
    leave((await rolledBack(client)) ? pool.give : pool.discard);
  };
  const onLost = () => void fail(new ConnectionLost());
  client.onLost.add(onLost);
  const pieces = (async function* () {
    const opening = `begin isolation level repeatable read read only; ${role}; select pg_backend_pid() as pid`;
    const opened = (await sql.unsafe(opening).simple()) as unknown as { pid: number }[][];
    backend = opened.at(-1)![0]!.pid;
    yield* source(sql, (query) => copyOut(sql, query, (dropping) => (drop = dropping)));
    await sql.unsafe("commit");
  })();
  const next = () =>
    new Promise<IteratorResult<Buffer>>((resolve, reject) => {
      interrupt = reject;
      pieces.next().then(resolve, reject);
    });
  return {
    next: async () => {
      if (state === "done") return null;
      if (state !== "open") throw state;
      receiver.asks();
      try {
        const { value, done } = await next();
        if (!done) {
          receiver.has(value.length);
          return value;
        }
        settle("done");
        leave(pool.give);
        return null;
      } catch (error) {
        await fail(error as Error);
        throw error;
      }
    },
    cancel: () => fail(new DeadlineExceeded("nobody takes what flows")),
    lag: () => (state === "open" ? receiver.lag() : 0),
  };
}

/** Watches over how a receiver takes what flows, and is given it. It is expected to ask from the beginning. */
function receiverOf({ stall, silence }: FlowLimits, onStandstill: (reason: string) => void) {
  let timer: NodeJS.Timeout | undefined;
  /** When it was its turn, or null while it waits for us. */
  let since: number | null = null;
  let behind = 0;
  const lag = () => behind + (since === null ? 0 : performance.now() - since);
  const has = (bytes: number) => {
    behind = Math.max(behind - bytes / PACE, -MOST_AHEAD);
    since = performance.now();
    clearTimeout(timer);
    timer = setTimeout(onStandstill, stall, "nobody takes what flows");
  };
  has(0);
  return {
    has,
    lag,
    asks: () => {
      clearTimeout(timer);
      timer = setTimeout(onStandstill, silence, "the database says nothing more");
      behind = lag();
      since = null;
    },
    end: () => clearTimeout(timer),
  };
}

/** Whether the connection can be used again: it answers, and holds no transaction. */
async function rolledBack({ sql, lost }: Client): Promise<boolean> {
  if (lost) return false;
  const late = later(ROLLBACK_DEADLINE, false, { ref: false });
  const done = sql.unsafe("rollback").then(
    () => true,
    () => false,
  );
  return Promise.race([done, late]);
}

/** COPY's bytes, in pieces as large as have come. `onOpen` is told how to let the rest go by unread. */
async function* copyOut(
  sql: postgres.Sql,
  query: string,
  onOpen: (drop: () => void) => void,
): AsyncGenerator<Buffer> {
  const stream = await openStream(sql, query);
  onOpen(() => {
    // The driver pauses the socket when `push` says no, and whoever is paused is not told of the cancellation.
    stream.push = () => true;
    stream._read(0);
  });
  for await (const piece of stream) yield piece as Buffer;
  // The driver (3.4.9) leaves the socket paused when the last bytes came faster than they were read.
  stream._read(0);
}

/**
 * The stream of a COPY. The driver (3.4.9) tells it of an error, which ends the process where nobody listens,
 * before whoever awaits it could: so it is listened to as soon as it is made.
 */
function openStream(sql: postgres.Sql, query: string): Promise<Readable> {
  const copying = sql.unsafe(`copy (${query}) to stdout (format csv)`);
  const { resolve } = copying as unknown as { resolve(answer: unknown): void };
  // Called once more, with the command's result, when all has been copied.
  const listened = (answer: unknown) => {
    if (answer instanceof Readable) answer.on("error", () => {});
    resolve(answer);
  };
  return Object.assign(copying, { resolve: listened }).readable();
}

/** A value as an SQL literal, for COPY, which takes no parameters. Lists are given as PostgreSQL prints them. */
export function literal(value: string | number | boolean): string {
  return `E'${String(value).replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
