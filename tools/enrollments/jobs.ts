import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";

/** Reference to the job that moves a journey's people. The job stands above the rooms that enqueue it. */
export const STEP_JOURNEY = {
  name: "step_journey",
  attempts: 100,
  input: z.object({ journeyId: z.uuid() }),
};

/** Moves a journey's people soon; or at `runAt`, an ISO time or a number of seconds from now. */
export function stepSoon(
  { enqueue }: Pick<Context, "enqueue">,
  journeyId: string,
  runAt: string | number = 0,
): void {
  enqueue(STEP_JOURNEY, { journeyId }, { dedupe: journeyId, mergeKey: journeyId, runAt });
}
