import { isIP } from "node:net";
import type { Database } from "#db/client.ts";
import type { Log } from "./log.ts";

/** Length of the window, in seconds. */
export const WINDOW = 60;
const SYNC_EVERY = 250;

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  reset: number;
}

interface Counter {
  window: number;
  /** What all processes had counted at the last exchange. */
  shared: number;
  /** What this process counted since. */
  own: number;
}

/** What a limit by address counts: of IPv6 a network of 64 bits, which is the least that one subscriber is given. */
export function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  if (isIP(plain) !== 6) return plain;
  const [head = [], tail = []] = plain
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  // An IPv4 address at the end stands for two groups.
  const given = head.length + tail.length + (plain.includes(".") ? 1 : 0);
  const groups = [...head, ...Array<string>(Math.max(0, 8 - given)).fill("0"), ...tail];
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(":")}::/64`;
}

/**
 * Fixed windows counted in memory. Processes exchange their counts through one table four times a second,
 * so that they share one budget and no request waits for the database.
 */
export function rateLimiter(options: { db: Database; now: () => number; log: Log }) {
  const { db, now, log } = options;
  const counters = new Map<string, Counter>();
  let syncing: Promise<void> | null = null;

  const take = (bucket: string, limit: number): Allowance => {
    const seconds = Math.floor(now() / 1000);
    const window = seconds - (seconds % WINDOW);
    let counter = counters.get(bucket);
    if (!counter || counter.window !== window) {
      counter = { window, shared: 0, own: 0 };
      counters.set(bucket, counter);
    }
    const used = counter.shared + counter.own;
    const allowed = used < limit;
    if (allowed) counter.own++;
    const remaining = Math.max(0, limit - used - (allowed ? 1 : 0));
    return { allowed, limit, remaining, reset: window + WINDOW };
  };

  /** Takes back what was taken, while its window lasts. */
  const giveBack = (bucket: string, taken: Allowance): void => {
    const counter = counters.get(bucket);
    if (taken.allowed && counter?.window === taken.reset - WINDOW) counter.own--;
  };

  /** What is left of a bucket; takes nothing of it. */
  const look = (bucket: string, limit: number): Allowance => {
    const taken = take(bucket, limit);
    giveBack(bucket, taken);
    return { ...taken, remaining: taken.remaining + (taken.allowed ? 1 : 0) };
  };

  /** Whether a bucket has nothing left in this window; takes nothing of it. */
  const isSpent = (bucket: string, limit: number): boolean => {
    const seconds = Math.floor(now() / 1000);
    const counter = counters.get(bucket);
    return counter?.window === seconds - (seconds % WINDOW) && counter.shared + counter.own >= limit;
  };

  const sync = async () => {
    const current = Math.floor(now() / 1000 / WINDOW) * WINDOW;
    const sent: { bucket: string; counter: Counter; own: number }[] = [];
    for (const [bucket, counter] of counters) {
      if (counter.window < current) counters.delete(bucket);
      else if (counter.own > 0) sent.push({ bucket, counter, own: counter.own });
    }
    if (sent.length === 0) return;
    for (const { counter, own } of sent) {
      counter.own -= own;
      counter.shared += own;
    }
    // Sorted, so that two processes lock the rows in one order.
    sent.sort((a, b) => (a.bucket < b.bucket ? -1 : 1));
    const rows = await db.asSystem(
      (sql) => sql<{ bucket: string; used: number }[]>`
      insert into rate_windows (bucket, window_start, used)
      select * from unnest(${sent.map((s) => s.bucket)}::text[], ${sent.map((s) => s.counter.window)}::bigint[],
        ${sent.map((s) => s.own)}::int[])
      on conflict (bucket, window_start) do update set used = rate_windows.used + excluded.used
      returning bucket, used`,
    );
    for (const { bucket, used } of rows) {
      const counter = counters.get(bucket);
      if (counter?.window === current) counter.shared = Math.max(counter.shared, used);
    }
  };

  const timer = setInterval(() => {
    syncing ??= sync()
      .catch((error: unknown) => log.debug({ err: error }, "rate counts not exchanged; tried again"))
      .finally(() => {
        syncing = null;
      });
  }, SYNC_EVERY);

  return {
    take,
    giveBack,
    look,
    isSpent,
    close: async () => {
      clearInterval(timer);
      await syncing;
    },
  };
}

export type RateLimiter = ReturnType<typeof rateLimiter>;
