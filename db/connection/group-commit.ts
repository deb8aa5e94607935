import { ConnectionLost, DeadlineExceeded, withDeadline } from "./open.ts";
import { REQUEST_DEADLINE, type Work } from "./transaction.ts";

export interface GroupCommit {
  /** Runs `work` and resolves once its writes are committed. Throws the work's error, and DeadlineExceeded. */
  run<T>(opening: readonly string[], work: Work<T>, options?: Membership): Promise<T>;
}

export interface Membership {
  /** Groups are made of members of one name and opening. */
  name?: string;
  /** A group has one member of this value. */
  one?: string;
  deadline?: number | undefined;
}

interface Member {
  one: string | undefined;
  opening: readonly string[];
  work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** While this many transactions run, new members wait and form the next group. */
const GROUPS_AT_ONCE = 2;
const MOST_MEMBERS = 16;
/** A group that waits this long for a lock is given up; each member then waits in its own transaction. */
const LOCK_TIMEOUT = "set local lock_timeout = '100ms'";

/**
 * Group commit: short writes with the same opening that arrive together share one transaction, one commit and one
 * disk flush. Without it a keyed create takes 1.5 to 1.9 times as long (S17). When a group is rolled back, each member
 * runs again in its own transaction, so `work` may run twice.
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
      const results = await transact([...hurry, ...members[0]!.opening], runMembers(members));
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
      const group = nextGroup(members);
      // The remaining members queue behind the other groups.
      if (members.length > 0) waiting.set(name, members);
      if (group.length > 0) void start(group);
    }
  };
  return {
    run: async <T>(opening: readonly string[], work: Work<T>, options: Membership = {}) => {
      const { one, deadline = REQUEST_DEADLINE } = options;
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const member = { one, opening, work, resolve: resolve as Member["resolve"], reject };
      const name = [...opening, options.name].join("; ");
      const members = waiting.get(name) ?? [];
      waiting.set(name, members);
      members.push(member);
      // The group starts after this iteration of the event loop, which may bring more members.
      setImmediate(startNext);
      return withDeadline(promise, deadline).finally(() => {
        const index = members.indexOf(member);
        if (index >= 0) members.splice(index, 1);
      });
    },
  };
}

/** Takes the next members out of those that wait, each `one` once. */
function nextGroup(members: Member[]): Member[] {
  const taken = new Set<string>();
  const group: Member[] = [];
  for (let index = 0; index < members.length && group.length < MOST_MEMBERS; ) {
    const { one } = members[index]!;
    if (one !== undefined && taken.has(one)) {
      index++;
      continue;
    }
    if (one !== undefined) taken.add(one);
    group.push(...members.splice(index, 1));
  }
  return group;
}

/**
 * Runs all members side by side. No member may send a statement after another has failed and the transaction ends.
 */
function runMembers(members: Member[]): Work<unknown[]> {
  return async (sql, last) => {
    const ended = await Promise.allSettled(members.map(({ work }) => work(sql, last)));
    return ended.map((one) => {
      if (one.status === "rejected") throw one.reason;
      return one.value;
    });
  };
}
