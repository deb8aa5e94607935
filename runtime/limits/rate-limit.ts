import { isIP } from "node:net";
import type { Database } from "#db/database.ts";
import type { Log } from "#runtime/log.ts";

/** Seconds in one window. */
const WINDOW = 60;
const EXCHANGE_EVERY = 250;
/** Milliseconds for which the counts of other processes count as current. */
const KNOWN_FOR = 1_000;
/** The part of a remaining budget that a process may use before it reports to the others. */
const UNREPORTED_SHARE = 1 / 20;
/** The longest wait for the others' counts, in milliseconds. */
const EXCHANGE_TIMEOUT = 1_000;

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  reset: number;
}

/** The requests of a bucket in one window. */
interface Counter {
  readonly bucket: string;
  /** Unix seconds at which the window begins. */
  readonly window: number;
  /** Requests in all processes, as of the last exchange. */
  shared: number;
  /** Requests in this process since the last exchange. */
  own: number;
  /** The time of the request for `shared`, by the limiter's clock. */
  exchangedAt: number;
}

/** The bucket of an address: for IPv6 its network of 64 bits, which is the least that one subscriber gets. */
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
 * Fixed windows counted in memory. Processes exchange their counts four times a second, and sooner when a budget is
 * used quickly. A request then waits for an exchange, which many requests share. A single request does not wait.
 */
export function rateLimiter(options: { db: Database; now: () => number; log: Log }) {
  const { now } = options;
  const counters = new Map<string, Counter>();
  const exchange = openExchange(options);

  const counterOf = (bucket: string, at: number): Counter => {
    const window = windowAt(at);
    const known = counters.get(bucket);
    if (known?.window === window) return known;
    const counter = { bucket, window, shared: 0, own: 0, exchangedAt: Number.NEGATIVE_INFINITY };
    counters.set(bucket, counter);
    return counter;
  };
  const timer = setInterval(() => {
    const window = windowAt(now());
    for (const [bucket, counter] of counters) {
      if (counter.window < window) counters.delete(bucket);
      else if (counter.own > 0) exchange.report(counter);
    }
  }, EXCHANGE_EVERY);

  return {
    /** Takes one at once: until an exchange, each process allows the whole limit. */
    take: (bucket: string, limit: number): Allowance => count(counterOf(bucket, now()), limit),
    /** Takes one of a budget that all processes share. */
    takeShared: (bucket: string, limit: number): Allowance | Promise<Allowance> => {
      const at = now();
      const counter = counterOf(bucket, at);
      const left = limit - counter.shared;
      if (counter.own >= left) return count(counter, limit);
      const isKnown = at - counter.exchangedAt < KNOWN_FOR;
      const unreported = isKnown ? Math.floor(left * UNREPORTED_SHARE) : 1;
      if (counter.own >= unreported) return exchange.take(counter, limit);
      const allowance = count(counter, limit);
      // Reported while some of the budget is left, so that no request has to wait.
      if (isKnown && counter.own > unreported / 2) exchange.report(counter);
      return allowance;
    },
    /** The rest of a bucket. Takes nothing from it. */
    peek: (bucket: string, limit: number): Allowance => {
      const window = windowAt(now());
      const counter = counters.get(bucket);
      const used = counter?.window === window ? counter.shared + counter.own : 0;
      return { ...allowanceAt(used, window, limit), remaining: Math.max(0, limit - used) };
    },
    /** Gives a taken request back, while its window lasts. */
    giveBack: (bucket: string, taken: Allowance): void => {
      const counter = counters.get(bucket);
      if (taken.allowed && counter?.window === taken.reset - WINDOW) counter.own--;
    },
    close: async () => {
      clearInterval(timer);
      await exchange.close();
    },
  };
}

export type RateLimiter = ReturnType<typeof rateLimiter>;

function windowAt(milliseconds: number): number {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds - (seconds % WINDOW);
}

/** Takes one, by the counts that are known here. */
function count(counter: Counter, limit: number): Allowance {
  const allowance = allowanceAt(counter.shared + counter.own, counter.window, limit);
  if (allowance.allowed) counter.own++;
  return allowance;
}

/** The allowance of the next request after `used` requests. */
function allowanceAt(used: number, window: number, limit: number): Allowance {
  return { allowed: used < limit, limit, remaining: Math.max(0, limit - used - 1), reset: window + WINDOW };
}

/** A request that waits for the counts of all processes. */
interface Waiting {
  limit: number;
  resolve(allowance: Allowance): void;
}

/** Exchanges counts with the other processes through one table, one statement at a time. */
function openExchange({ db, now, log }: { db: Database; now: () => number; log: Log }) {
  let due = new Map<Counter, Waiting[]>();
  let running: Promise<void> | null = null;

  const exchange = async (): Promise<void> => {
    const sentAt = now();
    const sent = [...due].map(([counter, waiting]) => ({ counter, waiting, own: Math.max(0, counter.own) }));
    due = new Map();
    const sums = await add(db, sent).catch((error: unknown) => {
      log.debug({ err: error }, "rate limit counts not exchanged with other processes; retrying");
      return null;
    });
    for (const { counter, waiting, own } of sent) {
      if (!sums) {
        for (const { limit, resolve } of waiting) resolve(count(counter, limit));
        continue;
      }
      // A table that a crash has emptied knows fewer requests than this process.
      const sum = Math.max(sums.get(nameOf(counter)) ?? 0, counter.shared + own + waiting.length);
      for (const [at, { limit, resolve }] of waiting.entries()) {
        resolve(allowanceAt(sum - waiting.length + at, counter.window, limit));
      }
      counter.own -= own;
      counter.shared = sum;
      counter.exchangedAt = sentAt;
    }
  };
  const untilNone = async () => {
    // Counts of the same moment go out together.
    await null;
    while (due.size > 0) await exchange();
    running = null;
  };
  const report = (counter: Counter, ...waiting: Waiting[]): void => {
    const before = due.get(counter);
    if (before) before.push(...waiting);
    else due.set(counter, waiting);
    running ??= untilNone();
  };

  return {
    report,
    /** Takes one by the counts of all processes, or by those known here if the database does not answer. */
    take: (counter: Counter, limit: number) =>
      new Promise<Allowance>((resolve) => report(counter, { limit, resolve })),
    close: async () => {
      await running;
    },
  };
}

/** Adds this process's requests and the waiting ones; answers the sums of all processes, by counter. */
async function add(
  db: Database,
  sent: { counter: Counter; waiting: Waiting[]; own: number }[],
): Promise<Map<string, number>> {
  const rows = sent
    .map(({ counter, waiting, own }) => ({ ...counter, more: own + waiting.length }))
    // Sorted, so that two processes lock the rows in one order.
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const sums = await db.asSystem(
    (sql) => sql<{ bucket: string; window: number; used: number }[]>`
      insert into rate_windows (bucket, window_start, used)
      select * from unnest(${rows.map((row) => row.bucket)}::text[], ${rows.map((row) => row.window)}::bigint[],
        ${rows.map((row) => row.more)}::int[])
      on conflict (bucket, window_start) do update set used = rate_windows.used + excluded.used
      returning bucket, window_start::double precision as window, used`,
    { deadline: EXCHANGE_TIMEOUT },
  );
  return new Map(sums.map((row) => [nameOf(row), row.used]));
}

function nameOf({ bucket, window }: Pick<Counter, "bucket" | "window">): string {
  return `${window} ${bucket}`;
}
