import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { Fault } from "#runtime/faults.ts";

export interface LayOut {
  source: string;
}

export interface LaidOut {
  html: string;
  errors: { line?: number | undefined; message: string; tagName?: string | undefined }[];
  /** Raw content beside columns. */
  amongColumns: string;
}

// The request waits for the layout, and has five seconds in all.
const TURN_MS = 2_500;
const START_MS = 3_500;
const LAYOUT_MS = 2_000;
// A layout may need a whole core. The second one serves other properties meanwhile.
const MOST = 2;

const busy = new Set<string>();
let waiting: { property: string; start(): void }[] = [];
let warm: Promise<Worker> | null = null;

/**
 * Lays MJML out in a thread of its own, one at a time for a property; null when it takes too long. Throws `unavailable`
 * when it has waited too long for earlier ones.
 */
export async function layOut(property: string, source: string): Promise<LaidOut | null> {
  await turn(property);
  try {
    const worker = await ready();
    const done = await answered(worker, { source });
    if (done) reuseOrEnd(worker);
    else await worker.terminate();
    return done;
  } finally {
    busy.delete(property);
    startNext();
  }
}

async function turn(property: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<true>();
  const one = { property, start: () => resolve(true) };
  waiting.push(one);
  startNext();
  if (await within(promise, TURN_MS)) return;
  waiting = waiting.filter((other) => other !== one);
  throw new Fault("unavailable", {
    message: "Other MJML templates are rendering. Retry in a second.",
    retryAfter: 1,
  });
}

/** Starts the first waiting layout of a property that has none running. */
function startNext(): void {
  const next = busy.size < MOST && waiting.find(({ property }) => !busy.has(property));
  if (!next) return;
  waiting = waiting.filter((one) => one !== next);
  busy.add(next.property);
  next.start();
}

async function ready(): Promise<Worker> {
  const starting = warm ?? start();
  warm = null;
  const worker = await within(starting, START_MS);
  if (worker) return worker;
  // It goes on starting for the next request.
  warm ??= starting;
  throw new Fault("unavailable", {
    message: "MJML rendering is starting. Retry in a second.",
    retryAfter: 1,
  });
}

function start(): Promise<Worker> {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  worker.unref();
  // A thread without memory gives an error, and then exits; `answered` hears the exit.
  worker.on("error", () => {});
  return once(worker, "message").then(() => worker);
}

async function answered(worker: Worker, task: LayOut): Promise<LaidOut | null> {
  const answer = new Promise<LaidOut | null>((resolve) => {
    worker.once("message", resolve);
    worker.once("exit", () => resolve(null));
  });
  worker.postMessage(task);
  const done = await within(answer, LAYOUT_MS);
  worker.removeAllListeners("message");
  worker.removeAllListeners("exit");
  return done;
}

function reuseOrEnd(worker: Worker): void {
  if (warm) void worker.terminate();
  else warm = Promise.resolve(worker);
}

async function within<T>(work: Promise<T>, milliseconds: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, milliseconds, null);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
