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

/** Moves a journey's people as far as they can go, and runs again when the next person's time comes. */
export default job({
  ...STEP_JOURNEY,
  sends: true,
  async handler(job, { journeyId }) {
    let moved = 0;
    try {
      for (let moves = 1; moves > 0; moved += moves) {
        job.signal.throwIfAborted();
        moves = await job.transact((context) => stepOnce(context, journeyId));
      }
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
    await job.transact(async (context) => {
      // Resuming enqueues the job of a paused journey.
      if (!(await findActive(context, journeyId))) return;
      const wait = await secondsToNext(context, journeyId);
      if (wait !== null) stepSoon(context, journeyId, wait);
    });
  },
});

async function stepOnce(context: Context, journeyId: string): Promise<number> {
  const { sql } = context;
  const journey = await findActive(context, journeyId);
  if (!journey) return 0;
  const stopped = await stoppedMessage(context, journeyId);
  if (stopped) {
    await pauseJourney(context, journey, stopped);
    return 0;
  }
  const [clock] = await sql<[{ at: string }]>`select to_json(now()) #>> '{}' as at`;
  return step(context, journeyId, clock.at, { isTimed: true });
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
