import postgres from "postgres";
import {
  type Client,
  type ConnectionOptions,
  command,
  DeadlineExceeded,
  openClient,
  openPool,
  unlessLost,
  withDeadline,
} from "#db/connection/open.ts";
import type { ReadRows, RowValues } from "#db/query/reader.ts";
import { query } from "#db/sql.ts";
import { jsonAsText } from "#db/types.ts";
import type { Settings } from "./settings.ts";
import type { Standby } from "./standby.ts";
import { REQUEST_DEADLINE, withClient } from "./transaction.ts";

export interface Readers {
  read: ReadRows;
  close(): Promise<void>;
}

export function openReading(url: string, size: number, settings: Settings): Readers {
  // A statement that may be long is planned for its values: a rare value may need another index.
  const readers = openPool(url, size, {
    ...settings("app_reader", { plan_cache_mode: "force_custom_plan" }),
    types: jsonAsText as never,
  });
  const shared = openSharedReaders(url, { ...settings("app_reader", SHORT), types: jsonAsText as never });
  // Callers choose the filters of lists: these texts must not displace the service's own prepared ones.
  const listTexts = new Set<string>();
  return {
    read: async (statement, { short = false, deadline = REQUEST_DEADLINE } = {}) => {
      const run = (sql: postgres.Sql) => query(sql, statement, listTexts).values().then(dense);
      const startedAt = performance.now();
      if (short) {
        const rows = await shared.run(`${statement.values[0]} ${statement.texts.join("?")}`, run, deadline);
        if (rows) return rows;
      }
      return withClient(readers, deadline - (performance.now() - startedAt), ({ sql }) => run(sql));
    },
    close: async () => {
      await Promise.all([readers.close(), shared.close()]);
    },
  };
}

/** The standby answers the callers that it serves. A read that fails there runs again on the primary. */
export function besideStandby(primary: Readers, copy: Readers, standby: Standby): Readers {
  return {
    read: async (statement, options = {}) => {
      const { caller, deadline = REQUEST_DEADLINE } = options;
      if (caller === undefined || !standby.serves(caller)) return primary.read(statement, options);
      const startedAt = performance.now();
      try {
        return await copy.read(statement, { ...options, deadline: deadline / 2 });
      } catch (error) {
        standby.failed(error);
        const left = deadline - (performance.now() - startedAt);
        return primary.read(statement, { ...options, deadline: left });
      }
    },
    close: async () => {
      await Promise.all([primary.close(), copy.close()]);
    },
  };
}

/**
 * The driver (3.4.9) keeps counting after a statement that failed between its rows: the next result begins with
 * holes.
 */
function dense(rows: unknown[]): RowValues[] {
  return (rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows) as RowValues[];
}

/** PostgreSQL stops a statement that takes too long. */
export const SHORT = { statement_timeout: "250ms" };

export interface SharedReaders {
  /**
   * Runs a short read behind others on one connection. Null when the read needs a connection of its own: it was
   * stopped now or recently, or the connection was lost. `name` identifies the read, so that a stopped one is
   * recognized. Throws DeadlineExceeded.
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
 * PostgreSQL plans each statement once for all values. Citus has no such plans: it needs a value to find the shard.
 * The C library returns freed memory to the system, and takes it again for each page of 50 KB. Freeing one larger
 * piece once ends that: 656 µs of PostgreSQL's time a page before, 554 after. The piece is made of 2,000 parts, in 5 ms:
 * to make it of single letters, and to count them, takes 55.
 */
const WARMING = `select octet_length(repeat(repeat('x', 2000), 2000)), set_config('plan_cache_mode',
  case when is_distributed() then current_setting('plan_cache_mode') else 'force_generic_plan' end, false)`;

/** Not awaited: the read follows on the wire at once. Warming that is stopped is done again before the next read. */
function warm(line: Line): void {
  line.warm = true;
  command(line.sql, WARMING).then(undefined, () => {
    line.warm = false;
  });
}

/**
 * Connections on which many short reads run one behind the other. No read waits for a free connection, and PostgreSQL
 * always has the next read at hand. A list of 50 takes 930 µs of both processes' time this way, and 1,530 µs on
 * pooled connections (S1).
 */
function openSharedReaders(url: string, options: ConnectionOptions): SharedReaders {
  const lines: Line[] = [];
  const stopped = new Set<string>();
  let closed = false;
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
    const index = lines.indexOf(line);
    if (index >= 0) lines.splice(index, 1);
    line.cut();
  };
  return {
    run: async (name, read, deadline) => {
      if (closed || stopped.has(name)) return null;
      const line = emptiest();
      if (!line.warm) warm(line);
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
        // A read may run again, so only the statement's own error is thrown.
        if (error instanceof postgres.PostgresError && !/^(08|57)/.test(error.code)) throw error;
        if (error instanceof postgres.PostgresError && error.code === QUERY_CANCELED) stopped.add(name);
        return null;
      } finally {
        line.running--;
      }
    },
    close: async () => {
      closed = true;
      clearInterval(forgetting);
      await Promise.all(lines.map((line) => line.end()));
    },
  };
}
