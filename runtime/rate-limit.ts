import { isIP } from "node:net";
import type { Database } from "#db/client.ts";
import type { Log } from "./log.ts";
import { type Allowance, type Counter, count, openExchange, WINDOW } from "./rate-exchange.ts";

const EXCHANGE_EVERY = 250;
/** Milliseconds for which it counts what the others are known to have counted. */
const KNOWN_FOR = 1_000;
/** Of what is left of a budget, what a process that knows of the others may let pass before it tells them. */
const UNTOLD = 1 / 20;

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
 * Fixed windows counted in memory. Processes exchange their counts four times a second, and sooner where a budget
 * is used quickly: then whoever claims waits for an exchange, which many share. One that comes alone waits for nothing.
 */
export function rateLimiter(options: { db: Database; now: () => number; log: Log }) {
  const { now } = options;
  const counters = new Map<string, Counter>();
  const exchange = openExchange(options);

  const counterOf = (bucket: string, at: number): Counter => {
    const window = windowAt(at);
    const known = counters.get(bucket);
    if (known?.window === window) return known;
    const counter = { bucket, window, shared: 0, own: 0, heardAt: Number.NEGATIVE_INFINITY };
    counters.set(bucket, counter);
    return counter;
  };

  /** Takes one at once: processes that have not heard of each other let pass the whole limit each. */
  const take = (bucket: string, limit: number): Allowance => count(counterOf(bucket, now()), limit);

  /** Takes one of a budget that all processes share. */
  const claim = (bucket: string, limit: number): Allowance | Promise<Allowance> => {
    const at = now();
    const counter = counterOf(bucket, at);
    const left = limit - counter.shared;
    if (counter.own >= left) return count(counter, limit);
    const isKnown = at - counter.heardAt < KNOWN_FOR;
    const untold = isKnown ? Math.floor(left * UNTOLD) : 1;
    if (counter.own >= untold) return exchange.ask(counter, limit);
    const allowance = count(counter, limit);
    // Before there is no more of it, so that nobody has to wait.
    if (isKnown && counter.own > untold / 2) exchange.tellSoon(counter);
    return allowance;
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
    const counter = counters.get(bucket);
    return counter?.window === windowAt(now()) && counter.shared + counter.own >= limit;
  };

  const timer = setInterval(() => {
    const window = windowAt(now());
    for (const [bucket, counter] of counters) {
      if (counter.window < window) counters.delete(bucket);
      else if (counter.own > 0) exchange.tellSoon(counter);
    }
  }, EXCHANGE_EVERY);

  return {
    take,
    claim,
    giveBack,
    look,
    isSpent,
    close: async () => {
      clearInterval(timer);
      await exchange.close();
    },
  };
}

function windowAt(milliseconds: number): number {
  const seconds = Math.floor(milliseconds / 1000);
  return seconds - (seconds % WINDOW);
}

export type RateLimiter = ReturnType<typeof rateLimiter>;
