import { z } from "zod";
import { sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import cancelSends from "#tools/campaigns/cancel-sends.job.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import { checkStatus, findJourney, JourneyView } from "./journey/journey.ts";
import journeys from "./journeys.table.ts";

/** A million people inside take their time. */
const DEADLINE_MS = 60_000;

export default tool({
  name: "archive_journey",
  title: "Archive a journey",
  description:
    "Ends a journey for good: nobody enters, everybody inside leaves, and its unsent messages are cancelled. Its figures stay. It cannot be undone; pause_journey can.",
  scope: "write",
  effect: "destroy",
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: { journeyId: z.uuid().describe("From list_journeys"), propertyId: z.uuid() },
  output: z.object({
    success: z.literal(true),
    journey: JourneyView,
    exited: z.int().describe("Players who were inside"),
  }),
  faults: ["not_found", "conflict"],
  async handler(context, { journeyId }) {
    const journey = await findJourney(context, journeyId, { lock: "change" });
    checkStatus(journey, ["draft", "active", "paused"], "be archived");
    const exited = await endEnrollments(context, sql`d.journey_id = ${journeyId}::uuid`, "journey_archived");
    context.ask?.({
      sentences: () => [
        `The journey ${JSON.stringify(journey.name)} ends for good. It cannot be undone.`,
        `${counted(exited, "player inside leaves", "players inside leave")} it, and its unsent messages are cancelled.`,
      ],
    });
    await cancelMessages(context, journeyId);
    await context.sql`
      delete from journey_triggers where property_id = ${context.property.id} and journey_id = ${journeyId}`;
    const row = await update(context, journeys, journeyId, { status: "archived", archived_at: "now" });
    context.audit({ entity: "journeys", entityId: journeyId });
    return { success: true as const, journey: row, exited };
  },
});

async function cancelMessages(context: Context, journeyId: string): Promise<void> {
  const cancelled = await context.sql<{ id: string }[]>`
    update campaigns set status = 'cancelled', finished_at = now(), updated_at = now()
    where property_id = ${context.property.id} and journey_id = ${journeyId} and status <> 'cancelled'
    returning id`;
  for (const { id } of cancelled) context.enqueue(cancelSends, { campaignId: id }, { dedupe: id });
}
