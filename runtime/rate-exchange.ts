import type { Database } from "#db/client.ts";
import type { Log } from "./log.ts";

/** Length of the window, in seconds. */
export const WINDOW = 60;
/** The longest that anybody waits for the others' counts, in milliseconds. */
const PATIENCE = 1_000;

export interface Allowance {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Unix seconds at which the window ends. */
  reset: number;
}

/** What is counted of a bucket in one window. */
export interface Counter {
  readonly bucket: string;
  /** Unix seconds at which the window begins. */
  readonly window: number;
  /** What all processes had counted when this one last heard of them. */
  shared: number;
  /** What this process counted since, and has told nobody. */
  own: number;
  /** Milliseconds, by the clock of the exchange. */
  heardAt: number;
}

interface Asked {
  limit: number;
  resolve(allowance: Allowance): void;
}

/** Takes one, by what is known here. */
export function count(counter: Counter, limit: number): Allowance {
  const allowance = allowanceAt(counter.shared + counter.own, counter.window, limit);
  if (allowance.allowed) counter.own++;
  return allowance;
}

/** What the next one is told when so many have been counted. */
function allowanceAt(used: number, window: number, limit: number): Allowance {
  return { allowed: used < limit, limit, remaining: Math.max(0, limit - used - 1), reset: window + WINDOW };
}

/** Tells the other processes through one table what was counted here, and hears what they did: one statement at a time. */
export function openExchange({ db, now, log }: { db: Database; now: () => number; log: Log }) {
  let due = new Map<Counter, Asked[]>();
  let running: Promise<void> | null = null;

  const exchange = async (): Promise<void> => {
    const sentAt = now();
    const told = [...due].map(([counter, asked]) => ({ counter, own: Math.max(0, counter.own), asked }));
    due = new Map();
    const sums = await tell(db, told).catch((error: unknown) => {
      log.debug({ err: error }, "rate counts not exchanged; tried again");
      return null;
    });
    for (const { counter, own, asked } of told) {
      if (!sums) {
        for (const { limit, resolve } of asked) resolve(count(counter, limit));
        continue;
      }
      // A table that was emptied by a crash knows less than this process.
      const sum = Math.max(sums.get(nameOf(counter)) ?? 0, counter.shared + own + asked.length);
      for (const [at, { limit, resolve }] of asked.entries()) {
        resolve(allowanceAt(sum - asked.length + at, counter.window, limit));
      }
      counter.own -= own;
      counter.shared = sum;
      counter.heardAt = sentAt;
    }
  };
  const untilNone = async () => {
    // What is told in the same moment goes together.
    await null;
    while (due.size > 0) await exchange();
    running = null;
  };
  const tellSoon = (counter: Counter, ...asked: Asked[]): void => {
    const before = due.get(counter);
    if (before) before.push(...asked);
    else due.set(counter, asked);
    running ??= untilNone();
  };

  return {
    tellSoon,
    /** Takes one of what all processes have left. By what is known here, where the database says nothing. */
    ask: (counter: Counter, limit: number) =>
      new Promise<Allowance>((resolve) => tellSoon(counter, { limit, resolve })),
    close: async () => {
      await running;
    },
  };
}

interface Told {
  counter: Counter;
  own: number;
  asked: Asked[];
}

/** Adds what was counted and what is asked for; answers the sums of all processes, by counter. */
async function tell(db: Database, told: Told[]): Promise<Map<string, number>> {
  const rows = told
    .map(({ counter, own, asked }) => ({ ...counter, more: own + asked.length }))
    // Sorted, so that two processes lock the rows in one order.
    .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const sums = await db.asSystem(
    (sql) => sql<{ bucket: string; window: number; used: number }[]>`
      insert into rate_windows (bucket, window_start, used)
      select * from unnest(${rows.map((row) => row.bucket)}::text[], ${rows.map((row) => row.window)}::bigint[],
        ${rows.map((row) => row.more)}::int[])
      on conflict (bucket, window_start) do update set used = rate_windows.used + excluded.used
      returning bucket, window_start::double precision as window, used`,
    { deadline: PATIENCE },
  );
  return new Map(sums.map((row) => [nameOf(row), row.used]));
}

function nameOf({ bucket, window }: Pick<Counter, "bucket" | "window">): string {
  return `${window} ${bucket}`;
}
