import { ConnectionLost, DeadlineExceeded, withDeadline } from "./open.ts";
import { REQUEST_DEADLINE, type Work } from "./transaction.ts";

export interface GroupCommit {
  /** Runs `work`, after which all that it wrote is kept. Throws what it throws, and DeadlineExceeded. */
  run<T>(opening: readonly string[], work: Work<T>, deadline?: number): Promise<T>;
}

interface Member {
  opening: readonly string[];
  work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** While as many transactions run, new members wait: they are the next group. */
const GROUPS_AT_ONCE = 2;
const MOST_MEMBERS = 16;
/** A group that has to wait for a lock is given up, and its members wait for themselves. */
const LOCK_TIMEOUT = "set local lock_timeout = '100ms'";

/**
 * Group commit: short writes with one opening that come at the same time share a transaction, its opening, its commit
 * and its wait for the disk. Without it, a keyed create took 1.5 to 1.9 times as long (S17). Where a group fails,
 * each member runs again in a transaction of its own, so `work` may run twice.
 */
export function groupCommit(
  transact: <T>(statements: readonly string[], work: Work<T>) => Promise<T>,
): GroupCommit {
  const waiting = new Map<string, Member[]>();
  let running = 0;

  const start = async (members: Member[]): Promise<void> => {
    running++;
    try {
      const hurry = members.length > 1 ? [LOCK_TIMEOUT] : [];
      const results = await transact([...hurry, ...members[0]!.opening], together(members));
      for (const [index, { resolve }] of members.entries()) resolve(results[index]);
    } catch (error) {
      const isShared =
        members.length > 1 && !(error instanceof ConnectionLost || error instanceof DeadlineExceeded);
      for (const { opening, work, resolve, reject } of members) {
        if (isShared) transact(opening, work).then(resolve, reject);
        else reject(error);
      }
    } finally {
      running--;
      startNext();
    }
  };
  const startNext = (): void => {
    for (const [name, members] of waiting) {
      if (running >= GROUPS_AT_ONCE) return;
      waiting.delete(name);
      const group = members.splice(0, MOST_MEMBERS);
      // The rest goes behind the other openings.
      if (members.length > 0) waiting.set(name, members);
      if (group.length > 0) void start(group);
    }
  };
  return {
    run: async <T>(opening: readonly string[], work: Work<T>, deadline = REQUEST_DEADLINE) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const member = { opening, work, resolve: resolve as Member["resolve"], reject };
      const name = opening.join("; ");
      const members = waiting.get(name) ?? [];
      waiting.set(name, members);
      members.push(member);
      // After this turn of the event loop, in which more may come.
      setImmediate(startNext);
      return withDeadline(promise, deadline).finally(() => {
        const place = members.indexOf(member);
        if (place >= 0) members.splice(place, 1);
      });
    },
  };
}

/** All of the members side by side: none may send anything once the others have failed and the transaction ends. */
function together(members: Member[]): Work<unknown[]> {
  return async (sql, last) => {
    const ended = await Promise.allSettled(members.map(({ work }) => work(sql, last)));
    return ended.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  };
}
