import postgres from "postgres";
import {
  type Client,
  type ConnectionOptions,
  DeadlineExceeded,
  openClient,
  unlessLost,
  withDeadline,
} from "./open.ts";

/** Statements are planned once for all values, and one that is not short is stopped. */
export const SHORT = { plan_cache_mode: "force_generic_plan", statement_timeout: "250ms" };

export interface SharedReaders {
  /**
   * Runs a short read behind others. Null when it has to run on a connection of its own: it was stopped now or
   * lately, or its connection was lost. `name` is known again by then. Throws DeadlineExceeded.
   */
  run<T>(name: string, read: (sql: postgres.Sql) => PromiseLike<T>, deadline: number): Promise<T | null>;
  close(): Promise<void>;
}

interface Line extends Client {
  running: number;
  warm: boolean;
}

const CONNECTIONS = 3;
/** Milliseconds. */
const FORGET_STOPPED_EVERY = 10_000;
const QUERY_CANCELED = "57014";
/**
 * The C library gives freed memory back to the system, and each page of 50 KB then takes it anew, until a larger
 * piece was freed once: 656 µs of PostgreSQL's time a page before, 554 after.
 */
const WARMING = "select length(repeat('x', 4000000))";

/**
 * Connections that many short reads are on at once, one behind the other: none waits for a connection to come back,
 * and PostgreSQL has its next one at hand. A list of 50 takes 930 µs of both processes' time by them, and 1,530 by
 * connections that are handed out (S1).
 */
export function openSharedReaders(url: string, options: ConnectionOptions): SharedReaders {
  const lines: Line[] = [];
  const stopped = new Set<string>();
  const forgetting = setInterval(() => stopped.clear(), FORGET_STOPPED_EVERY).unref();

  const open = (): Line => {
    const line: Line = Object.assign(openClient(url, options), { running: 0, warm: false });
    line.onLost.add(() => {
      line.warm = false;
    });
    lines.push(line);
    return line;
  };
  const emptiest = (): Line => {
    const [first, ...others] = lines;
    if (!first) return open();
    const best = others.reduce((one, other) => (other.running < one.running ? other : one), first);
    return best.running === 0 || lines.length === CONNECTIONS ? best : open();
  };
  const discard = (line: Line): void => {
    const place = lines.indexOf(line);
    if (place >= 0) lines.splice(place, 1);
    line.cut();
  };
  return {
    run: async (name, read, deadline) => {
      if (stopped.has(name)) return null;
      const line = emptiest();
      if (!line.warm) line.sql.unsafe(WARMING).then(undefined, () => {});
      line.warm = true;
      line.running++;
      try {
        return await withDeadline(
          unlessLost(line, read(line.sql), () => discard(line)),
          deadline,
        );
      } catch (error) {
        if (error instanceof DeadlineExceeded) {
          discard(line);
          throw error;
        }
        // A read may be run again: all but the statement's own fault has another cause.
        if (error instanceof postgres.PostgresError && !/^(08|57)/.test(error.code)) throw error;
        if (error instanceof postgres.PostgresError && error.code === QUERY_CANCELED) stopped.add(name);
        return null;
      } finally {
        line.running--;
      }
    },
    close: async () => {
      clearInterval(forgetting);
      await Promise.all(lines.map((line) => line.end()));
    },
  };
}
