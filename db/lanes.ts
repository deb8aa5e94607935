import { type Flow, type Source, startFlow } from "./flow.ts";
import { type Client, DeadlineExceeded, type Pool } from "./pool.ts";

/** A connection that is kept for a flow. It is given back by its flow, or by `release` when there is none. */
export interface Lane {
  start(source: Source): Flow;
  release(): void;
}

/** Milliseconds. */
export interface FlowLimits {
  /** A receiver who takes nothing for this long has gone. */
  stall: number;
  /** A database that says nothing for this long, while the receiver waits, says nothing more. */
  silence: number;
  /** All of it, however it moves. */
  whole: number;
  /** A receiver who is behind the pace by more gives way to whoever waits for a lane. */
  lag: number;
}

export const FLOW_LIMITS: FlowLimits = { stall: 30_000, silence: 60_000, whole: 300_000, lag: 2_000 };

/** Flows at once in one process: slow receivers hold connections, and requests must not wait for them. */
export const LANES = 4;
/** Those of one property: what it holds must not keep the others out. */
const MOST_OF_ONE = 2;
const TURN_DEADLINE = 5_000;
const LOOK_EVERY = 200;

interface Holder {
  property: string;
  flow: Flow | null;
}

interface Waiter {
  property: string;
  enter(): void;
}

export interface Lanes {
  /** Waits for a lane, which are few: a flow holds one for as long as its receiver reads. Throws DeadlineExceeded. */
  open(property: string, role: string): Promise<Lane>;
  close(): Promise<void>;
}

/** The lanes over a pool of as many connections. A full house makes room at the cost of the slowest receiver. */
export function openLanes(
  pool: Pool,
  limits: FlowLimits,
  stopQuery: (backend: number) => Promise<void>,
): Lanes {
  const holders = new Set<Holder>();
  const waiting: Waiter[] = [];
  let looking: NodeJS.Timeout | undefined;

  const held = (property: string) => [...holders].filter((holder) => holder.property === property).length;
  const isOpen = (property: string) => holders.size < LANES && held(property) < MOST_OF_ONE;
  const admit = () => {
    // Who holds fewest is first.
    waiting.sort((a, b) => held(a.property) - held(b.property));
    const next = waiting.findIndex(({ property }) => isOpen(property));
    if (next >= 0) waiting.splice(next, 1)[0]!.enter();
    if (waiting.length > 0) looking ??= setInterval(makeRoom, LOOK_EVERY);
    else {
      clearInterval(looking);
      looking = undefined;
    }
  };
  const makeRoom = () => {
    for (const { property } of waiting) {
      const inTheWay = [...holders].filter((holder) => holders.size >= LANES || holder.property === property);
      const lags = inTheWay.map(({ flow }) => flow?.lag() ?? 0);
      const most = Math.max(...lags);
      if (most > limits.lag) return void inTheWay[lags.indexOf(most)]!.flow!.cancel();
    }
  };
  const enter = (property: string): Promise<Holder> =>
    new Promise((resolve, reject) => {
      const waiter: Waiter = {
        property,
        enter: () => {
          clearTimeout(timer);
          const holder: Holder = { property, flow: null };
          holders.add(holder);
          resolve(holder);
        },
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        admit();
        reject(new DeadlineExceeded(`no lane within ${TURN_DEADLINE} ms`));
      }, TURN_DEADLINE);
      waiting.push(waiter);
      admit();
    });

  return {
    open: async (property, role) => {
      const holder = await enter(property);
      const client = await pool.take();
      const leave = (how: (client: Client) => void) => {
        if (!holders.delete(holder)) return;
        how(client);
        admit();
      };
      return {
        start: (source) => {
          holder.flow = startFlow({ client, role, limits, stopQuery, pool, leave }, source);
          return holder.flow;
        },
        release: () => leave(pool.give),
      };
    },
    close: async () => {
      clearInterval(looking);
      await pool.close();
    },
  };
}
