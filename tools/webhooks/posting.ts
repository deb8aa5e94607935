import { type AttemptOutcome, attempt, type Delivery, type Post } from "./attempt.ts";
import { BATCH, type DeliveryBatch, type Endpoint } from "./visit.ts";

/** Requests to a receiver that answers. */
const CONCURRENCY = 16;
/** Requests in all, with those that later ones have overtaken. */
const MOST = 64;
/** Milliseconds after which an overtaken request leaves its place to another. */
const SLOW_MS = 1_000;
/** From this number of time-outs in a row on, the receiver hangs, and not only some of its requests. */
const HANGS_IN_A_ROW = 8;
/** The number of outcomes that is worth a visit of its own: few are then left to record after the last requests. */
const WORTH_RECORDING = 256;
/** Milliseconds between two visits while requests are open: new events and outcomes wait no longer. */
const VISIT_EVERY_MS = 250;

/** The results of the requests, for the visit. */
export interface Progress {
  /** Outcomes since the last visit. */
  outcomes: AttemptOutcome[];
  /** Ids of the deliveries that this job has claimed and not recorded: they are not claimed again. */
  inFlight: string[];
  /** Ids of the events that this job has claimed, and whose requests have not begun. */
  unsent: string[];
  /** The receiver as a whole does not answer. */
  hangs: boolean;
}

/**
 * The requests of one job to one endpoint. A slow request costs the others nothing: once a later one has overtaken it,
 * another takes its place. Nothing is started after `isOver`.
 */
export function openPosting(isOver: () => boolean) {
  const flow = openFlow();
  let waiting: Delivery[] = [];
  let outcomes: AttemptOutcome[] = [];
  let isMoreDue = false;
  let start: (delivery: Delivery) => Promise<AttemptOutcome>;
  let notify = () => {};

  const startMore = () => {
    if (isOver()) waiting = [];
    while (waiting.length > 0 && flow.hasRoom()) void post(waiting.shift()!);
  };
  const post = async (delivery: Delivery) => {
    flow.began(delivery.id);
    const outcome = await start(delivery);
    flow.ended(delivery.id, outcome);
    outcomes.push(outcome);
    // The deliveries that were not started stay due.
    if (flow.isInVain()) waiting = [];
    startMore();
    if (isVisitDue()) notify();
  };
  // A whole batch waits while a visit records one and claims another: the requests do not run dry meanwhile.
  const isVisitDue = () =>
    flow.open() === 0 || outcomes.length >= WORTH_RECORDING || (isMoreDue && waiting.length < BATCH);

  return {
    /** Starts the requests of a batch, and no request with an event that is erased. */
    add: (using: Post, { endpoint, deliveries, erased }: DeliveryBatch) => {
      if (erased.length > 0) waiting = waiting.filter(({ event_id }) => !erased.includes(event_id));
      start = (delivery) => attempt(using, endpoint, delivery);
      // The receiver asked for a rest while the visit claimed: the next visit records it first.
      const isUnrecorded = flow.isInVain() && outcomes.length > 0;
      isMoreDue = isUnrecorded || deliveries.length === BATCH;
      if (isUnrecorded || deliveries.length === 0) return;
      flow.resume(endpoint);
      waiting.push(...deliveries);
      startMore();
    },
    /** Answers the progress since the last call. */
    take: (): Progress => {
      const taken = outcomes;
      outcomes = [];
      return {
        outcomes: taken,
        inFlight: [...flow.ids(), ...waiting.map(({ id }) => id)],
        unsent: waiting.map(({ event_id }) => event_id),
        hangs: flow.hangs(),
      };
    },
    /** Starts no further request. */
    stop: () => {
      waiting = [];
      isMoreDue = false;
    },
    /** Resolves when a visit is worth its transaction. */
    wantsVisit: async (): Promise<void> => {
      if (isVisitDue()) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      notify = resolve;
      const timer = setTimeout(resolve, VISIT_EVERY_MS);
      await promise;
      clearTimeout(timer);
      startMore();
    },
  };
}

/** How many requests may be open, by the answers so far. */
function openFlow() {
  const begun = new Map<string, number>();
  let latestAnswered = 0;
  let answered = 0;
  let hangsInARow = 0;
  let isProbing = false;
  let vain = { hangs: false, rests: false };

  /** Old requests that a later one has overtaken. The map is in the order of their begin. */
  const overtaken = () => {
    const limit = Math.min(latestAnswered, performance.now() - SLOW_MS);
    let count = 0;
    for (const at of begun.values()) {
      if (at >= limit) break;
      count += 1;
    }
    return count;
  };
  return {
    hasRoom: () =>
      !vain.hangs &&
      !vain.rests &&
      begun.size < MOST &&
      begun.size - overtaken() < (isProbing && answered === 0 ? 1 : CONCURRENCY),
    open: () => begun.size,
    ids: () => begun.keys(),
    hangs: () => vain.hangs,
    /** Whether further requests of this visit are useless. */
    isInVain: () => vain.hangs || vain.rests,
    began: (id: string) => {
      begun.set(id, performance.now());
    },
    ended: (id: string, { receiver }: AttemptOutcome) => {
      latestAnswered = receiver.hangs ? latestAnswered : Math.max(latestAnswered, begun.get(id)!);
      begun.delete(id);
      answered += receiver.hangs ? 0 : 1;
      hangsInARow = receiver.hangs ? hangsInARow + 1 : 0;
      vain = {
        hangs: vain.hangs || (receiver.hangs && (answered === 0 || hangsInARow >= HANGS_IN_A_ROW)),
        rests: vain.rests || receiver.gone || receiver.retryAfter > 0,
      };
    },
    /** New deliveries after a rest: one request is enough to test a failing receiver. */
    resume: ({ failing_for }: Endpoint) => {
      if (vain.hangs || vain.rests) answered = 0;
      isProbing = failing_for !== null;
      vain = { hangs: false, rests: false };
    },
  };
}
