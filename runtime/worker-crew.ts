import { randomUUID } from "node:crypto";
import { isSqlState } from "#db/error-code.ts";
import type { Job } from "./operation.ts";
import {
  type Claimed,
  type ClaimOptions,
  claim,
  complete,
  fail,
  LEASE_LOST,
  release,
  releaseClaims,
  untilNext,
} from "./queue.ts";
import { jobContexts, type Surroundings } from "./worker-context.ts";
import { type Held, openSlots } from "./worker-slots.ts";

const POLL_EVERY = 1_000;
const LARGEST_CLAIM = 500;
/** A claim that is done within this time may be followed by one twice as large. */
const SWIFT = 100;
/** One that takes longer than this is followed by one no larger than the slots. */
const SLOW = 1_000;
const LONGEST_RETRY = 1_000;

export interface CrewOptions extends Surroundings {
  jobs: readonly Job<unknown>[];
  concurrency: number;
  leaseMs: number;
}

/** The claims and the runs of one worker. */
export function openCrew({ jobs, concurrency, leaseMs, ...around }: CrewOptions) {
  const { db, log } = around;
  const known = new Map(jobs.map((job) => [job.name, job]));
  const slots = openSlots(concurrency);
  const crew = {
    db,
    log,
    slots,
    known,
    names: [...known.keys()],
    concurrency,
    leaseMs,
    contexts: jobContexts(around, () => wake(crew)),
    held: new Set<Held>(),
    ended: [] as Held[],
    completing: false,
    claims: new Set<Promise<void>>(),
    /** Leases of claims that failed. */
    stray: new Set<string>(),
    /** Room that claims under way may fill. */
    awaited: 0,
    /** The size of a claim: the slots, and more once jobs have shown to be short. */
    batch: concurrency,
    hungry: true,
    wakes: 0,
    failures: 0,
    stopping: false,
    closed: false,
    timer: undefined as NodeJS.Timeout | undefined,
    onQuiet: [] as (() => void)[],
  };
  return crew;
}

export type Crew = ReturnType<typeof openCrew>;

/** There may be jobs: looks at once. */
export function wake(crew: Crew): void {
  crew.wakes++;
  crew.hungry = true;
  work(crew);
}

/** Whether another claim could be made now. */
export function hasRoom(crew: Crew): boolean {
  return room(crew) > 0;
}

/** Resolves when this process holds no job any more. */
export function quiet(crew: Crew): Promise<void> {
  if (crew.held.size === 0 && crew.claims.size === 0) return Promise.resolve();
  return new Promise((resolve) => crew.onQuiet.push(resolve));
}

/** Gives jobs back to the queue as if they had not been claimed. */
export async function giveBack(crew: Crew, jobs: readonly Held[]): Promise<void> {
  if (jobs.length === 0) return;
  crew.batch = crew.concurrency;
  await persist(crew, () => release(crew.db, jobs));
  forget(crew, jobs);
}

/** Starts what waits for a slot, and claims more while there is room for it. */
export function work(crew: Crew): void {
  if (crew.stopping) return;
  for (let job = crew.slots.take(); job; job = crew.slots.take()) void run(crew, job);
  while (crew.hungry && room(crew) > 0) {
    const limit = room(crew);
    crew.awaited += limit;
    const claiming = claimOnce(crew, limit).finally(() => {
      crew.awaited -= limit;
      crew.claims.delete(claiming);
      work(crew);
      settleQuiet(crew);
    });
    crew.claims.add(claiming);
  }
}

/** Short jobs are claimed ahead, in two claims at a time; long ones only when there is a slot for them. */
function room(crew: Crew): number {
  const { slots, batch, awaited, claims, concurrency } = crew;
  if (crew.failures > 0 && claims.size > 0) return 0;
  if (batch === concurrency) return claims.size > 0 ? 0 : concurrency - slots.waits() - slots.runs();
  const space = 2 * batch - slots.waits() - awaited;
  return claims.size < 2 && space >= batch / 2 ? Math.min(batch, space) : 0;
}

async function claimOnce(crew: Crew, limit: number): Promise<void> {
  const { db, names, leaseMs, slots, concurrency } = crew;
  const seen = crew.wakes;
  const cap = crew.batch === concurrency ? slots.most : 2 * crew.batch;
  try {
    await releaseStray(crew);
    const options: ClaimOptions = { names, limit, lease: randomUUID(), leaseMs, cap, held: slots.tenants() };
    const claimed = await claim(db, options).catch((error: unknown) => {
      crew.stray.add(options.lease);
      throw error;
    });
    recovered(crew);
    const jobs = take(crew, claimed);
    if (jobs.length === 0) crew.batch = concurrency;
    if (crew.stopping) return await giveBack(crew, jobs);
    for (const job of jobs) slots.add(job);
    if (jobs.length > 0 || seen !== crew.wakes) return;
    crew.hungry = false;
    const next = await untilNext(db);
    if (!crew.hungry)
      look(crew, next === null ? POLL_EVERY : Math.min(POLL_EVERY, Math.max(0, Math.ceil(next))));
  } catch (error) {
    crew.hungry = false;
    look(crew, trouble(crew, error));
  }
}

/** A claim that failed may have been committed all the same: nobody here works on what it took. */
export async function releaseStray(crew: Crew): Promise<void> {
  if (crew.stray.size === 0) return;
  const stray = [...crew.stray];
  await releaseClaims(crew.db, stray);
  for (const lease of stray) crew.stray.delete(lease);
}

/** Looks for jobs after so many milliseconds, if nothing wakes the worker sooner. */
function look(crew: Crew, after: number): void {
  clearTimeout(crew.timer);
  if (!crew.stopping) crew.timer = setTimeout(() => wake(crew), after);
}

function take(crew: Crew, claimed: readonly Claimed[]): Held[] {
  const since = performance.now();
  const batch = { left: claimed.length, jobs: claimed.length, since };
  const jobs = claimed.map(
    (one): Held => ({ ...one, state: "waiting", since, batch, stop: new AbortController() }),
  );
  for (const job of jobs) crew.held.add(job);
  return jobs;
}

async function run(crew: Crew, held: Held): Promise<void> {
  held.state = "running";
  try {
    const job = crew.known.get(held.name)!;
    await job.handler(crew.contexts.of(held), job.input.parse(held.input));
    end(crew, held);
  } catch (error) {
    await failed(crew, held, error);
  }
  // A tenant that had all the room it may have is not asked for jobs until now.
  crew.hungry ||= crew.slots.jobsOf(held.tenant) >= crew.slots.most;
  crew.slots.leave(held);
  pace(crew, held);
  work(crew);
}

function pace(crew: Crew, { batch }: Held): void {
  batch.left--;
  if (batch.left > 0) return;
  const took = performance.now() - batch.since;
  if (took > SLOW) crew.batch = crew.concurrency;
  else if (took < SWIFT && batch.jobs >= crew.batch / 2) {
    crew.batch = Math.min(Math.max(LARGEST_CLAIM, crew.concurrency), crew.batch * 2);
  }
}

/** Notes a success. All that end while the last statement is under way are completed by the next one. */
function end(crew: Crew, held: Held): void {
  held.state = "ended";
  crew.ended.push(held);
  if (!crew.completing) void completeAll(crew);
}

async function completeAll(crew: Crew): Promise<void> {
  crew.completing = true;
  while (crew.ended.length > 0) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    const ended = crew.ended.splice(0);
    await persist(crew, () => complete(crew.db, ended));
    forget(crew, ended);
  }
  crew.completing = false;
}

async function failed(crew: Crew, held: Held, error: unknown): Promise<void> {
  const about = { err: error, job: held.name, jobId: held.id, attempt: held.attempts };
  if (isSqlState(error, LEASE_LOST) || !crew.held.has(held)) {
    crew.log.warn(about, "job left to the worker that took it over");
    return forget(crew, [held]);
  }
  if (crew.stopping) return await giveBack(crew, [held]);
  held.state = "ended";
  const reason = { error: describe(error), interrupted: crew.contexts.interrupted(error) };
  let outcome = "unknown";
  await persist(crew, async () => {
    outcome = await fail(crew.db, held, reason);
  });
  if (outcome === "dead") crew.log.error(about, "job failed for good");
  else crew.log.warn({ ...about, outcome }, "job failed");
  forget(crew, [held]);
}

/** Repeats until the database has taken it, or the worker is closed: then the lease runs out by itself. */
async function persist(crew: Crew, write: () => Promise<void>): Promise<void> {
  while (!crew.closed) {
    try {
      await write();
      return recovered(crew);
    } catch (error) {
      const pause = trouble(crew, error);
      await new Promise<void>((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Milliseconds to wait before the database is tried again. One outage is one line in the log. */
export function trouble(crew: Crew, error: unknown): number {
  if (crew.failures === 0)
    crew.log.warn({ err: error }, "the queue's database does not answer; it is tried again");
  crew.failures++;
  return Math.min(LONGEST_RETRY, 50 * 2 ** Math.min(crew.failures, 10)) * (0.5 + Math.random() / 2);
}

export function recovered(crew: Crew): void {
  if (crew.failures > 0) crew.log.info("the queue's database answers again");
  crew.failures = 0;
}

export function forget(crew: Crew, jobs: readonly Held[]): void {
  for (const job of jobs) crew.held.delete(job);
  settleQuiet(crew);
}

function settleQuiet(crew: Crew): void {
  if (crew.held.size > 0 || crew.claims.size > 0) return;
  for (const resolve of crew.onQuiet.splice(0)) resolve();
}

function describe(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return text.replaceAll("\0", "").slice(0, 2_000);
}
