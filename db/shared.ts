import postgres from "postgres";
import { messageSockets } from "./messages.ts";
import { ConnectionLost, DeadlineExceeded } from "./pool.ts";
import { cuttable } from "./socket.ts";

/** What shared connections are opened with: statements are planned once for all values, and a long one is stopped. */
export const SHORT = { plan_cache_mode: "force_generic_plan", statement_timeout: "250ms" };

export interface Shared {
  /**
   * Runs a statement behind others. Null when it has to run on a connection of its own: it was not as short as
   * was thought, now or lately, or the connection was lost. `name` is what it is known by. Throws DeadlineExceeded.
   */
  run<T>(name: string, work: (sql: postgres.Sql) => PromiseLike<T>, deadline: number): Promise<T | null>;
  close(): Promise<void>;
}

interface Line {
  sql: postgres.Sql;
  cut(): void;
  warm: boolean;
  /** In the order of their answers. */
  waiting: Set<Waiting>;
}

interface Waiting {
  until: number;
  reject(error: Error): void;
}

type Options = NonNullable<Parameters<typeof postgres>[1]>;

/**
 * The C library gives freed memory back to the system, and each page of 50 KB then takes it anew, until a larger
 * piece was freed once: 530 µs a page before, 410 after.
 */
const WARMING = "select length(repeat('x', 4000000))";
const LINES = 3;
/** Milliseconds. */
const SLOW_FOR = 10_000;
const MOST_SLOW = 1_000;
const CHECK_EVERY = 250;
const QUERY_CANCELED = "57014";

/**
 * Connections that many statements are on at once, one behind the other: none waits for a connection to come
 * back, and PostgreSQL has its next one at hand. So only short ones belong here.
 */
export function openShared(url: string, options: Options): Shared {
  const lines: Line[] = [];
  const slow = slowOnes();

  const open = (): Line => {
    const { socket, cut } = cuttable(messageSockets());
    const line: Line = { sql: undefined as never, cut, warm: false, waiting: new Set() };
    const onclose = () => {
      line.warm = false;
      // The driver answers nothing that is sent while a connection breaks.
      leave(line, Number.NEGATIVE_INFINITY);
    };
    // The driver knows the option, and its types do not.
    const sockets = { socket };
    line.sql = postgres(url, { ...options, max: 1, onclose, ...sockets });
    lines.push(line);
    return line;
  };
  const emptiest = (): Line => {
    let best = lines[0];
    for (const line of lines) if (line.waiting.size < best!.waiting.size) best = line;
    return best && (best.waiting.size === 0 || lines.length === LINES) ? best : open();
  };
  // One clock for all instead of a timer for each statement.
  const checking = setInterval(() => {
    const now = performance.now();
    for (const line of [...lines]) {
      const [oldest] = line.waiting;
      if (!oldest || oldest.until > now) continue;
      lines.splice(lines.indexOf(line), 1);
      leave(line, now);
      line.cut();
      void line.sql.end({ timeout: 0 }).catch(() => {});
    }
  }, CHECK_EVERY).unref();

  return {
    run: async (name, work, deadline) => {
      if (slow.has(name)) return null;
      const line = emptiest();
      if (!line.warm) line.sql.unsafe(WARMING).then(undefined, () => {});
      line.warm = true;
      try {
        return await behind(line, work(line.sql), performance.now() + deadline);
      } catch (error) {
        if (error instanceof DeadlineExceeded) throw error;
        // All but a fault of the statement itself: a read may be run again.
        if (error instanceof postgres.PostgresError && !/^(08|57)/.test(error.code)) throw error;
        if (error instanceof postgres.PostgresError && error.code === QUERY_CANCELED) slow.add(name);
        return null;
      }
    },
    close: async () => {
      clearInterval(checking);
      await Promise.all(lines.map(({ sql, cut }) => sql.end({ timeout: 5 }).finally(cut)));
    },
  };
}

function behind<T>({ waiting }: Line, statement: PromiseLike<T>, until: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const one: Waiting = { until, reject };
    waiting.add(one);
    statement.then(
      (value) => {
        waiting.delete(one);
        resolve(value);
      },
      (error: Error) => {
        waiting.delete(one);
        reject(error);
      },
    );
  });
}

/** Ends the waiting of all on a line: of some because their time is over, of the others because it is gone. */
function leave({ waiting }: Line, now: number): void {
  const all = [...waiting];
  waiting.clear();
  for (const { until, reject } of all) {
    reject(until <= now ? new DeadlineExceeded("no answer within the deadline") : new ConnectionLost());
  }
}

/** Names that are kept for a while. */
function slowOnes() {
  const until = new Map<string, number>();
  return {
    has: (name: string): boolean => {
      const end = until.size === 0 ? undefined : until.get(name);
      if (end === undefined) return false;
      if (end > performance.now()) return true;
      until.delete(name);
      return false;
    },
    add: (name: string) => {
      if (until.size >= MOST_SLOW) until.clear();
      until.set(name, performance.now() + SLOW_FOR);
    },
  };
}
