import {
  type Client,
  ConnectionLost,
  command,
  DeadlineExceeded,
  type Pool,
  TransactionOverrun,
  unlessLost,
  withDeadline,
} from "#db/connection/open.ts";
import { type Fragment, query, type Sql, tagOf } from "#db/sql.ts";

/** Makes the statements that write rows. It may read first, in a round trip of its own. */
export type Write<Row> = (rows: Row[], sql: Sql) => Fragment[] | Promise<Fragment[]>;

/**
 * Leaves a row to the round trip of the commit: one `write` gets all of its rows in the transaction, those of a whole
 * group too, because a statement costs more than a row. A failing statement rolls everything back. `locks`: the rows
 * are changed by many transactions. Those statements go last, so that a transaction holds such rows for a short time;
 * `write` sorts them, so that no two wait for one another in a circle.
 */
export type Last = <Row>(write: Write<Row>, row: Row, options?: { locks?: boolean }) => void;

/** The work of a transaction. */
export type Work<T> = (sql: Sql, last: Last) => Promise<T>;

export interface Opening {
  /** Sent after `begin`, each as a message of its own: Citus repeats the whole text of a SET to its workers. */
  statements: readonly string[];
  readOnly?: boolean | undefined;
  /** Milliseconds until the caller gets 503, also where the connection hangs. */
  deadline?: number | undefined;
}

/** Milliseconds. A rate limit may wait one second before it, so a caller waits at most five. */
export const REQUEST_DEADLINE = 4_000;
/**
 * Milliseconds until the server ends a query whose caller has gone. Cutting the connection does not stop the query.
 */
export const OVERTIME = 1_000;

/** Runs `work` in one transaction, and rolls it back when it fails. */
export function transact<T>(
  pool: Pool,
  work: Work<T>,
  { statements, readOnly, deadline = REQUEST_DEADLINE }: Opening,
): Promise<T> {
  let hasBegun = false;
  const running = withClient(pool, deadline, async (client) => {
    const { sql } = client;
    const isLost = () => client.lost;
    // Not awaited: the handler's first query follows on the wire at once.
    const opening = [
      `begin${readOnly ? " read only" : ""}`,
      ...(deadline === REQUEST_DEADLINE ? [] : [`set local statement_timeout = ${timeoutOf(deadline)}`]),
      ...statements,
    ];
    const opened = Promise.all(opening.map((text) => command(sql, text).simple().execute())).then(
      () => {
        hasBegun = true;
        return null;
      },
      (error: unknown) => ({ error }),
    );
    const { last, statements: lastStatements } = lastRows();
    let final: Fragment[];
    let result: T;
    try {
      const tag = tagOf(sql);
      result = await settle(work(tag, last), opened);
      // A connection that reconnected by itself has no transaction to commit.
      if (isLost()) throw new ConnectionLost();
      final = await lastStatements(tag);
    } catch (error) {
      if (isLost()) throw error instanceof ConnectionLost ? error : new ConnectionLost({ cause: error });
      await command(sql, "rollback").then(undefined, () => {});
      throw isLost() ? new ConnectionLost({ cause: error }) : error;
    }
    // The transaction ends here in any case: after a failed statement, `commit` rolls back, and its tag says so.
    const ended = await Promise.allSettled([...final.map((one) => query(sql, one)), command(sql, "commit")]);
    const failed = ended.find((one) => one.status === "rejected");
    const committed = ended.at(-1)!;
    const tag = committed.status === "fulfilled" && !isLost() ? committed.value.command : "";
    if (tag === "ROLLBACK") throw failed?.reason ?? new Error("a statement failed, so all was rolled back");
    // An error of the commit leaves its outcome open: a cluster reports so that a node was lost meanwhile.
    if (tag !== "COMMIT" || failed) throw new ConnectionLost({ cause: failed?.reason });
    return result;
  });
  return running.catch((error: unknown) => {
    throw hasBegun && error instanceof DeadlineExceeded ? new TransactionOverrun(deadline) : error;
  });
}

/** Collects the rows that are left to the commit. */
function lastRows() {
  const left = new Map<
    unknown,
    { statements(sql: Sql): ReturnType<Write<never>>; rows: unknown[]; locks: boolean }
  >();
  const last: Last = (write, row, { locks = false } = {}) => {
    const known = left.get(write);
    if (known) return void known.rows.push(row);
    const rows = [row];
    left.set(write, { statements: (sql) => write(rows, sql), rows, locks });
  };
  const statements = async (sql: Sql) => {
    const sorted = [...left.values()].sort((one, other) => Number(one.locks) - Number(other.locks));
    const written: Fragment[] = [];
    for (const one of sorted) written.push(...(await one.statements(sql)));
    return written;
  };
  return { last, statements };
}

/** Milliseconds for the server; 0 means no limit. */
function timeoutOf(deadline: number): number {
  return Number.isFinite(deadline) ? Math.ceil(deadline) + OVERTIME : 0;
}

/**
 * The work's result, or the error of the opening statements, which explains later errors. It waits for the work in
 * any case, because the work may send nothing after the end.
 */
async function settle<T>(work: Promise<T>, opened: Promise<{ error: unknown } | null>): Promise<T> {
  const [[ended], failed] = await Promise.all([Promise.allSettled([work]), opened]);
  if (failed) throw failed.error;
  if (ended.status === "rejected") throw ended.reason;
  return ended.value;
}

/** Runs `work` on a connection of its own. A connection that is lost, or silent at the deadline, is cut. */
export async function withClient<T>(
  pool: Pool,
  deadline: number,
  work: (client: Client) => PromiseLike<T>,
): Promise<T> {
  const startedAt = performance.now();
  const taking = pool.take();
  const client = await withDeadline(taking, deadline).catch((error: unknown) => {
    taking.then(pool.give, () => {});
    throw error;
  });
  try {
    const given = unlessLost(client, work(client), () => pool.discard(client));
    return await withDeadline(given, deadline - (performance.now() - startedAt));
  } catch (error) {
    // A reconnected connection may run a `begin` that the driver sends late, and no code would end that transaction.
    if (error instanceof DeadlineExceeded || error instanceof ConnectionLost) pool.discard(client);
    throw error;
  } finally {
    pool.give(client);
  }
}
