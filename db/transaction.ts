import type postgres from "postgres";
import { type Client, ConnectionLost, DeadlineExceeded, type Pool } from "./pool.ts";

/** A tagged template that runs SQL in the transaction that it belongs to. */
export type Sql = postgres.Sql;

/**
 * What runs in a transaction. Statements given to `last` are not awaited by it: they go out together with the
 * commit, in one round trip, and undo everything when one fails.
 */
export type Work<T> = (sql: Sql, last: (statement: PromiseLike<unknown>) => void) => Promise<T>;

export interface Opening {
  /** What the transaction begins with, after `begin`. */
  statements: string[];
  readOnly?: boolean | undefined;
  /** Milliseconds after which the caller is answered 503, whatever the connection does. */
  deadline?: number | undefined;
  /** Called when the first statements have been done. */
  onBegun?: (() => void) | undefined;
}

/** Milliseconds. With the second that a rate limit may wait before it, nobody waits longer than five. */
export const REQUEST_DEADLINE = 4_000;
/** A query that nobody waits for any more ends by itself so long after: cutting its connection does not stop it. */
export const OVERTIME = 1_000;
/** Milliseconds in which the driver fails what a lost connection was asked, if it does at all. */
const ANSWERS_LOSS_WITHIN = 100;

/** Runs all of the works side by side in one transaction, which nothing is left of when one of them fails. */
export function transact<T>(
  pool: Pool,
  works: readonly Work<T>[],
  { statements, readOnly, onBegun, deadline = REQUEST_DEADLINE }: Opening,
): Promise<T[]> {
  return withClient(pool, deadline, async (client, handOver) => {
    const { sql, losses } = client;
    const isLost = () => client.losses !== losses;
    // Not awaited: the handler's first query follows on the wire at once.
    const opening = [
      `begin${readOnly ? " read only" : ""}`,
      ...(deadline === REQUEST_DEADLINE ? [] : [`set local statement_timeout = ${timeoutOf(deadline)}`]),
      ...statements,
    ];
    const opened = sql
      .unsafe(opening.join("; "))
      .simple()
      .then(
        () => {
          onBegun?.();
          return null;
        },
        (error: unknown) => ({ error }),
      );
    const final: Promise<unknown>[] = [];
    const last = (statement: PromiseLike<unknown>) => {
      const sent = Promise.resolve(statement);
      // Heard even where the connection is lost before anybody waits for it.
      sent.catch(() => {});
      final.push(sent);
    };
    let results: T[];
    try {
      results = await settle(
        works.map((work) => work(sql, last)),
        opened,
      );
      // On a connection that came back by itself there is no transaction left to commit.
      if (isLost()) throw new ConnectionLost();
    } catch (error) {
      if (isLost()) throw error instanceof ConnectionLost ? error : new ConnectionLost({ cause: error });
      await sql.unsafe("rollback").then(undefined, () => {});
      throw isLost() ? new ConnectionLost({ cause: error }) : error;
    }
    // The transaction ends here in any case: where a statement has failed, this rolls it back. So the next one may
    // begin behind it, in the same write.
    const ending = Promise.all([...final, sql.unsafe("commit")]);
    handOver();
    const failed = await ending.then(
      () => null,
      (error: unknown) => ({ error }),
    );
    if (isLost()) throw new ConnectionLost({ cause: failed?.error });
    if (failed) throw failed.error;
    return results;
  });
}

/** Milliseconds for the server, where 0 is no limit. */
function timeoutOf(deadline: number): number {
  return Number.isFinite(deadline) ? Math.ceil(deadline) + OVERTIME : 0;
}

/**
 * The works' results, or the error of the opening statements, which explains any that followed. Waits for all of
 * them in any case: none may send anything after the end.
 */
async function settle<T>(works: Promise<T>[], opened: Promise<{ error: unknown } | null>): Promise<T[]> {
  const [ended, failed] = await Promise.all([Promise.allSettled(works), opened]);
  if (failed) throw failed.error;
  return ended.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

/** Runs `work` on a connection of its own. One that has not answered by the deadline, or was lost, is cut. */
export async function withClient<T>(
  pool: Pool,
  deadline: number,
  work: (client: Client, handOver: () => void) => PromiseLike<T>,
): Promise<T> {
  const startedAt = performance.now();
  const taking = pool.take();
  let client: Client;
  try {
    client = await withDeadline(taking, deadline);
  } catch (error) {
    void taking.then(pool.give);
    throw error;
  }
  let gone = false;
  let isCut = false;
  const cut = () => {
    isCut = true;
    pool.discard(client);
  };
  const handOver = () => {
    gone = pool.handOver(client);
  };
  try {
    const given = whileHeld(client, work(client, handOver), cut);
    const result = await withDeadline(given, deadline - (performance.now() - startedAt));
    if (!gone) pool.give(client);
    return result;
  } catch (error) {
    // Whoever has it by now waits behind the same silence. One that came back by itself may have begun what the
    // driver had not sent yet, and nobody would end it.
    if (error instanceof DeadlineExceeded || (error instanceof ConnectionLost && !gone && !isCut)) cut();
    else if (!gone && !isCut) pool.give(client);
    throw error;
  }
}

/** The driver answers nothing that is sent while a connection breaks, and what it kept open is gone in any case. */
async function whileHeld<T>(client: Client, work: PromiseLike<T>, cut: () => void): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const { promise: lost, reject } = Promise.withResolvers<never>();
  const onLost = () => {
    timer ??= setTimeout(() => {
      cut();
      reject(new ConnectionLost());
    }, ANSWERS_LOSS_WITHIN);
  };
  client.onLost.add(onLost);
  try {
    return await Promise.race([work, lost]);
  } finally {
    clearTimeout(timer);
    client.onLost.delete(onLost);
  }
}

export async function withDeadline<T>(promise: PromiseLike<T>, milliseconds: number): Promise<T> {
  if (milliseconds === Number.POSITIVE_INFINITY) return promise;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineExceeded(`no answer within ${milliseconds} ms`)),
      Math.max(0, milliseconds),
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
