import { setImmediate } from "node:timers/promises";
import { Fault } from "#runtime/faults.ts";

/** Milliseconds of work after which the process answers other requests. */
const SLICE_MS = 5;
/** Milliseconds of the processor for one part. */
const PART_MS = 250;
/** A property's rest, as a multiple of its work before it: meanwhile others have the processor. */
const REST = 3;
/** A request has some seconds in all. */
const WAIT_MS = 5_000;
/** The longest expected wait of a second one of the same property. */
const CROWD_MS = 300;
const FADING = 0.9;

/** The message of a part that passes its limit. It is that of liquidjs. */
export const OUT_OF_TIME = "template render limit exceeded";

/** Work that can pause at each `yield`, and returns a value. Values that it yields itself may be such work. */
type Steps = Iterator<unknown, unknown, unknown>;
type Result = { value: unknown } | { error: unknown };

interface Replay {
  results: Result[];
  at: number;
}

/** The replay under way, if any. */
let replay: Replay | null = null;

/** Leaves `inTurns` with the steps that must run before the work can go on. */
class Unfinished extends Error {
  readonly steps: Steps;
  constructor(steps: Steps) {
    super("steps that run in turns are not finished");
    this.steps = steps;
  }
}

/**
 * Runs `work`, which never waits, so that its long parts do not hold up other requests. A part that `stepped` begins
 * runs in slices, one part at a time in the process; then `work` runs again from its start, and gets the part's result.
 * Each property has a share of the processor. Throws `unavailable` where its turn does not come.
 */
export function inTurns<T>(property: string, work: () => T): Promise<T> {
  return replayed(work, async (steps) => {
    await turn(property);
    const { result, used } = await sliced(steps);
    endTurn(property, used);
    return result;
  });
}

/** As `inTurns`, for work that already has its share: it only pauses after each slice. */
export function inSlices<T>(work: () => T): Promise<T> {
  return replayed(work, async (steps) => (await sliced(steps)).result);
}

async function replayed<T>(work: () => T, run: (steps: Steps) => Promise<Result>): Promise<T> {
  const results: Result[] = [];
  for (;;) {
    const tried = tryWith(results, work);
    if ("value" in tried) return tried.value;
    results.push(await run(tried.steps));
  }
}

/** Runs the work with the results that there are. Nothing waits here, so no other work sees the replay. */
function tryWith<T>(results: Result[], work: () => T): { value: T } | { steps: Steps } {
  replay = { results, at: 0 };
  try {
    return { value: work() };
  } catch (error) {
    const unfinished = unfinishedIn(error);
    if (!unfinished) throw error;
    return { steps: unfinished.steps };
  } finally {
    replay = null;
  }
}

/** The value of a long part: of `begin` in turns where `inTurns` runs, else of `now` at once. */
export function stepped<T>(begin: () => Steps, now: () => T): T {
  if (!replay) return now();
  const result = replay.results[replay.at];
  if (!result) throw new Unfinished(begin());
  replay.at += 1;
  if ("error" in result) throw result.error;
  return result.value as T;
}

/** Whether an error only stops work until its earlier steps have run. The work itself did not fail. */
export function isUnfinished(error: unknown): boolean {
  return unfinishedIn(error) !== null;
}

/** Those that wait may be wrapped in the errors of their field. */
function unfinishedIn(error: unknown): Unfinished | null {
  if (error instanceof Unfinished) return error;
  return error instanceof Error && error.cause !== undefined ? unfinishedIn(error.cause) : null;
}

/** Runs steps to their end. Pauses for other requests after each slice. */
async function sliced(work: Steps): Promise<{ result: Result; used: number }> {
  const steps = flat(work);
  let used = 0;
  try {
    for (;;) {
      const from = process.threadCpuUsage();
      const sliceEnds = performance.now() + SLICE_MS;
      let step = steps.next();
      while (!step.done && performance.now() < sliceEnds) step = steps.next();
      used += processorMs(from);
      if (step.done) return { result: { value: step.value }, used };
      if (used > PART_MS) return { result: { error: new Error(OUT_OF_TIME) }, used };
      await setImmediate();
    }
  } catch (error) {
    return { result: { error }, used };
  }
}

/** Milliseconds of the processor since a reading. While the machine is busy with others, none pass. */
function processorMs(from: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(from);
  return (user + system) / 1_000;
}

/** The steps of work and of the work that it yields, with a pause at each; as liquidjs runs them itself. */
function* flat(work: Steps): Generator<undefined, unknown> {
  let given: unknown;
  let failed = false;
  for (;;) {
    const step = failed ? work.throw!(given) : work.next(given);
    given = step.value;
    failed = false;
    if (isSteps(given)) {
      try {
        given = yield* flat(given);
      } catch (error) {
        given = error;
        failed = true;
      }
    }
    if (step.done) return given;
    yield;
  }
}

function isSteps(value: unknown): value is Steps {
  return typeof value === "object" && value !== null && "next" in value && "throw" in value;
}

interface Waiting {
  property: string;
  start(): void;
  refuse(): void;
}

let busy = false;
let waiting: Waiting[] = [];
/** The processor time of a property's largest recent part, and the end of its rest. */
const shares = new Map<string, { used: number; restsUntil: number }>();

async function turn(property: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const one: Waiting = { property, start: () => resolve(true), refuse: () => resolve(false) };
  waiting.push(one);
  const timer = setTimeout(() => refuse(one), WAIT_MS);
  refuseCrowd(property);
  startNext();
  const started = await promise;
  clearTimeout(timer);
  if (started) return;
  throw new Fault("unavailable", {
    message: "Other previews of this property are rendering. Retry in a second.",
    retryAfter: 1,
  });
}

function refuse(one: Waiting): void {
  waiting = waiting.filter((other) => other !== one);
  one.refuse();
}

/** Each that waits holds a connection of the database: of a property with heavy templates, one alone waits long. */
function refuseCrowd(property: string): void {
  const rest = restOf(property);
  const each = (shares.get(property)?.used ?? 0) * (1 + REST);
  const mine = waiting.filter((one) => one.property === property);
  for (const [index, one] of mine.entries()) {
    if (index > 0 && rest + index * each > CROWD_MS) refuse(one);
  }
}

function restOf(property: string): number {
  return Math.max(0, (shares.get(property)?.restsUntil ?? 0) - performance.now());
}

function endTurn(property: string, used: number): void {
  busy = false;
  const before = shares.get(property)?.used ?? 0;
  for (const one of shares.keys()) if (restOf(one) === 0) shares.delete(one);
  // The largest part counts, and fades: a message has light parts behind its heavy one.
  shares.set(property, {
    used: Math.max(used, before * FADING),
    restsUntil: performance.now() + used * REST,
  });
  refuseCrowd(property);
  startNext();
}

/** Starts the first waiting part whose property does not rest. If all rest, it looks again at the end of the first rest. */
function startNext(): void {
  if (busy || waiting.length === 0) return;
  const next = waiting.find(({ property }) => restOf(property) === 0);
  if (next) {
    busy = true;
    waiting = waiting.filter((one) => one !== next);
    next.start();
  } else {
    setTimeout(startNext, Math.min(...waiting.map(({ property }) => restOf(property))));
  }
}
