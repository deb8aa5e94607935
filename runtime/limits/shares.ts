import { Fault } from "#runtime/faults.ts";

/** Heavy calls of one property at once: each holds a connection of the database that other tenants need. */
const MOST = 2;
/** Milliseconds. A request has fifteen seconds in all. */
const WAIT_MS = 5_000;

interface Share {
  running: number;
  waiting: Set<() => void>;
}

const shares = new Map<string, Share>();

/** Runs heavy work within a property's share of the service. Throws `unavailable` where its turn does not come. */
export async function inShare<T>(property: string, work: () => Promise<T>): Promise<T> {
  const share = shares.get(property) ?? { running: 0, waiting: new Set() };
  shares.set(property, share);
  if (share.running >= MOST) await turn(share);
  else share.running += 1;
  try {
    return await work();
  } finally {
    const [next] = share.waiting;
    if (next) next();
    else share.running -= 1;
    if (share.running === 0) shares.delete(property);
  }
}

function turn({ waiting }: Share): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const start = () => {
    waiting.delete(start);
    clearTimeout(timer);
    resolve();
  };
  const timer = setTimeout(() => {
    waiting.delete(start);
    reject(
      new Fault("unavailable", {
        message: "Other heavy calls of this property are running. Retry in a second.",
        retryAfter: 1,
      }),
    );
  }, WAIT_MS);
  waiting.add(start);
  return promise;
}
