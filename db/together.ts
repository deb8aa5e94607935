import { ConnectionLost, DeadlineExceeded } from "./pool.ts";
import { REQUEST_DEADLINE, type Work, withDeadline } from "./transaction.ts";

/** Something in a shared transaction has failed, and nothing of it was kept: each may be run again alone. */
export class NotTogether extends Error {
  constructor(options?: ErrorOptions) {
    super("a transaction that others share was undone", options);
  }
}

export interface Together {
  /**
   * Runs `work` with whoever else waits with the same opening. Throws NotTogether, and DeadlineExceeded after so
   * many milliseconds; what has not begun by then does not begin.
   */
  join<T>(opening: string, work: Work<T>, deadline?: number): Promise<T>;
}

interface Guest {
  work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** While as many transactions run, who comes waits, and they are the next one's. */
const AT_ONCE = 2;
const MOST_GUESTS = 16;

/**
 * Group commit: short writes that come at the same time share a transaction, with its opening, its commit and its
 * wait for the disk. One that nobody else waits with has one of its own, at once.
 */
export function openTogether(run: (opening: string, works: Work<unknown>[]) => Promise<unknown[]>): Together {
  const waiting = new Map<string, Guest[]>();
  let running = 0;
  let most = MOST_GUESTS;
  let isCalled = false;

  const start = async (opening: string, guests: Guest[]): Promise<void> => {
    running++;
    try {
      const works = guests.map(({ work }) => work);
      const results = await run(opening, works);
      for (const [index, guest] of guests.entries()) guest.resolve(results[index]);
      most = Math.min(2 * most, MOST_GUESTS);
    } catch (error) {
      const isAll = error instanceof ConnectionLost || error instanceof DeadlineExceeded;
      const told = guests.length === 1 || isAll ? error : new NotTogether({ cause: error });
      for (const guest of guests) guest.reject(told);
      // Who fails once may do so again, and the others have to pay for it.
      if (guests.length > 1) most = 1;
    } finally {
      running--;
      call();
    }
  };
  const next = (): void => {
    isCalled = false;
    for (const [opening, guests] of waiting) {
      if (running >= AT_ONCE) return;
      waiting.delete(opening);
      const rest = guests.splice(most);
      // Behind the others who wait.
      if (rest.length > 0) waiting.set(opening, rest);
      void start(opening, guests);
    }
  };
  // At the end of the loop's turn, so that requests which arrive in it find each other.
  const call = (): void => {
    if (isCalled || waiting.size === 0 || running >= AT_ONCE) return;
    isCalled = true;
    setImmediate(next);
  };
  const leave = (opening: string, guest: Guest): void => {
    const left = waiting.get(opening)?.filter((one) => one !== guest) ?? [];
    if (left.length > 0) waiting.set(opening, left);
    else waiting.delete(opening);
  };
  return {
    join: async <T>(opening: string, work: Work<T>, deadline = REQUEST_DEADLINE) => {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const guest = { work, resolve: resolve as Guest["resolve"], reject };
      const others = waiting.get(opening);
      if (others) others.push(guest);
      else waiting.set(opening, [guest]);
      call();
      try {
        return await withDeadline(promise, deadline);
      } catch (error) {
        leave(opening, guest);
        throw error;
      }
    },
  };
}
