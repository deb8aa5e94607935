import { toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { findPause } from "#tools/campaigns/campaign/property-pause.ts";
import { STEP_JOURNEY, stepSoon } from "#tools/enrollments/jobs.ts";
import { findJourney } from "./journey/journey.ts";
import { pauseJourney } from "./pausing.ts";
import { StepFailure, secondsToNext, step } from "./steps/step.ts";

/** Fewer people are found as quickly without statistics. */
const WORTH_ANALYZING = 1_000;
/** Until people are tried again whose rows another transaction has locked. A line catches up with as much. */
const LOCKED_SECONDS = 1;

/** Moves a journey's people as far as they can go, and runs again when the next person's time comes. */
export default job({
  ...STEP_JOURNEY,
  sends: true,
  async handler(job, { journeyId }) {
    let moved = 0;
    let last: Stepped | null;
    try {
      do {
        job.signal.throwIfAborted();
        last = await job.transact((context) => stepOnce(context, journeyId));
        moved += last?.moves ?? 0;
      } while (last && last.moves > 0);
    } catch (error) {
      return await orPause(job, journeyId, error);
    }
    // Without statistics, a step would read all who sleep to find who is due.
    if (moved >= WORTH_ANALYZING)
      await job.transact(
        ({ sql, property }) => sql`
          select analyze_enrollments(), analyze_sends() from journeys
          where property_id = ${property.id} and id = ${journeyId}`,
      );
    // Resuming enqueues the job of a paused journey.
    if (!last) return;
    const { at } = last;
    await job.transact(async (context) => {
      if (!(await findActive(context, journeyId))) return;
      const wait = await secondsToNext(context, journeyId, at);
      if (wait !== null) stepSoon(context, journeyId, wait > 0 ? after(at, wait) : LOCKED_SECONDS);
    });
  },
});

interface Stepped {
  moves: number;
  /** The time of the step, in ISO. */
  at: string;
}

/** Null where the journey is not active any more. */
async function stepOnce(context: Context, journeyId: string): Promise<Stepped | null> {
  const { sql } = context;
  const journey = await findActive(context, journeyId);
  if (!journey) return null;
  const stopped = await stoppedMessage(context, journeyId);
  if (stopped) {
    await pauseJourney(context, journey, stopped);
    return null;
  }
  const [{ at }] = await sql<[{ at: string }]>`select to_json(now()) #>> '{}' as at`;
  return { moves: await step(context, journeyId, at, { isTimed: true }), at };
}

function after(at: string, seconds: number): string {
  return new Date(Date.parse(at) + Math.ceil(seconds * 1000)).toISOString();
}

/** Why a message of the journey does not go out any more, although nobody has paused all sending. */
async function stoppedMessage(context: Context, journeyId: string): Promise<string | null> {
  const { sql, property } = context;
  const [stopped] = await sql<{ node: string; reason: string | null }[]>`
    select journey_node as node, status_reason as reason from campaigns
    where property_id = ${property.id} and journey_id = ${journeyId} and status in ('paused', 'failed')
      and deleted_at is null
    order by id limit 1`;
  if (!stopped || (await findPause(context))) return null;
  return `The message ${stopped.node} has stopped: ${stopped.reason ?? "it was paused"}`.slice(0, 1000);
}

/** Locked against a pause: behind its answer nobody moves. */
async function findActive(context: Context, journeyId: string) {
  const journey = await findJourney(context, journeyId, { lock: "share" }).catch(nullIfDeleted);
  return journey?.status === "active" ? journey : null;
}

function nullIfDeleted(error: unknown): null {
  if (toFault(error).code === "not_found") return null;
  throw error;
}

/** A rule that no other attempt can carry out pauses the journey, with its node and the reason. Nobody has moved. */
async function orPause(job: JobContext, journeyId: string, error: unknown): Promise<void> {
  const cause = error instanceof StepFailure ? error.cause : error;
  const isLasting = toFault(cause).status < 500;
  if (job.signal.aborted || !(isLasting || job.isLast)) throw error;
  const where = error instanceof StepFailure ? `The node ${error.node}` : "A step";
  const reason = isLasting ? toFault(cause).message : "failed too often; see the log";
  job.log.error({ err: error, journeyId }, "journey paused");
  await job.transact(async (context) => {
    const journey = await findJourney(context, journeyId, { lock: "change" }).catch(nullIfDeleted);
    if (journey?.status === "active")
      await pauseJourney(context, journey, `${where}: ${reason}`.slice(0, 1000));
  });
}
