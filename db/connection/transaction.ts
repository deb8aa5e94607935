import {
  type Client,
  ConnectionLost,
  DeadlineExceeded,
  unlessLost,
  withDeadline,
} from "#db/connection/open.ts";
import { type Sql, tagOf } from "#db/sql.ts";
import type { Pool } from "./pool.ts";

/**
 * What runs in a transaction. Statements given to `last` are not awaited by it: they go out together with the
 * commit, in one round trip, and undo everything when one fails.
 */
export type Work<T> = (sql: Sql, last: (statement: PromiseLike<unknown>) => void) => Promise<T>;

export interface Opening {
  /** Sent behind `begin`, each as a message of its own: Citus repeats to its workers the whole text of a SET. */
  statements: readonly string[];
  readOnly?: boolean | undefined;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number | undefined;
}

/** Milliseconds. With the second that a rate limit may wait before it, nobody waits longer than five. */
export const REQUEST_DEADLINE = 4_000;
/** A query that nobody waits for any more ends by itself so long after: cutting its connection does not stop it. */
export const OVERTIME = 1_000;

/** Runs `work` in one transaction, which nothing is left of when it fails. */
export function transact<T>(
  pool: Pool,
  work: Work<T>,
  { statements, readOnly, deadline = REQUEST_DEADLINE }: Opening,
): Promise<T> {
  return withClient(pool, deadline, async (client) => {
    const { sql } = client;
    const isLost = () => client.lost;
    // Not awaited: the handler's first query follows on the wire at once.
    const opening = [
      `begin${readOnly ? " read only" : ""}`,
      ...(deadline === REQUEST_DEADLINE ? [] : [`set local statement_timeout = ${timeoutOf(deadline)}`]),
      ...statements,
    ];
    const opened = Promise.all(opening.map((text) => sql.unsafe(text).simple().execute())).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    const final: Promise<unknown>[] = [];
    const last = (statement: PromiseLike<unknown>) => {
      const sent = Promise.resolve(statement);
      // Heard even where the connection is lost before anybody waits for it.
      sent.catch(() => {});
      final.push(sent);
    };
    let result: T;
    try {
      result = await settle(work(tagOf(sql), last), opened);
      // On a connection that came back by itself there is no transaction left to commit.
      if (isLost()) throw new ConnectionLost();
    } catch (error) {
      if (isLost()) throw error instanceof ConnectionLost ? error : new ConnectionLost({ cause: error });
      await sql.unsafe("rollback").then(undefined, () => {});
      throw isLost() ? new ConnectionLost({ cause: error }) : error;
    }
    // The transaction ends here in any case: where a statement has failed, this rolls it back.
    const failed = await Promise.all([...final, sql.unsafe("commit")]).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (isLost()) throw new ConnectionLost({ cause: failed?.error });
    if (failed) throw failed.error;
    return result;
  });
}

/** Milliseconds for the server, where 0 is no limit. */
function timeoutOf(deadline: number): number {
  return Number.isFinite(deadline) ? Math.ceil(deadline) + OVERTIME : 0;
}

/**
 * The work's result, or the error of the opening statements, which explains any that followed. Waits for the work in
 * any case: it may send nothing after the end.
 */
async function settle<T>(work: Promise<T>, opened: Promise<{ error: unknown } | null>): Promise<T> {
  const [[ended], failed] = await Promise.all([Promise.allSettled([work]), opened]);
  if (failed) throw failed.error;
  if (ended.status === "rejected") throw ended.reason;
  return ended.value;
}

/** Runs `work` on a connection of its own. One that has not answered by the deadline, or was lost, is cut. */
export async function withClient<T>(
  pool: Pool,
  deadline: number,
  work: (client: Client) => PromiseLike<T>,
): Promise<T> {
  const startedAt = performance.now();
  const taking = pool.take();
  const client = await withDeadline(taking, deadline).catch((error: unknown) => {
    void taking.then(pool.give);
    throw error;
  });
  try {
    const given = unlessLost(client, work(client), () => pool.discard(client));
    return await withDeadline(given, deadline - (performance.now() - startedAt));
  } catch (error) {
    // One that came back by itself may have begun what the driver had not sent yet, and nobody would end it.
    if (error instanceof DeadlineExceeded || error instanceof ConnectionLost) pool.discard(client);
    throw error;
  } finally {
    pool.give(client);
  }
}
