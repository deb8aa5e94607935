import { z } from "zod";
import { sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { tool } from "#runtime/operation/operation.ts";
import { endEnrollments } from "#tools/enrollments/end.ts";
import { namedPlayers } from "#tools/people/words.ts";
import { findJourney } from "../journey/journey.ts";

/** A million people inside take their time. */
const DEADLINE_MS = 60_000;

export default tool({
  name: "exit_players",
  title: "Take players out of a journey",
  description:
    "Ends a journey for players, or for all who are inside. Their messages that have not left are cancelled.",
  scope: "write",
  effect: "change",
  bulk: true,
  asks: true,
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    playerIds: z.array(z.uuid()).min(1).max(10_000).optional().describe("Default: everybody inside"),
  },
  output: z.object({ success: z.literal(true), exited: z.int() }),
  faults: ["not_found"],
  async handler(context, { journeyId, playerIds }) {
    const { name } = await findJourney(context, journeyId);
    const who = playerIds ? sql`and d.player_id = any(${playerIds}::uuid[])` : sql``;
    const exited = await endEnrollments(context, sql`d.journey_id = ${journeyId}::uuid ${who}`, "manual");
    context.ask?.({
      sentences: async () => [
        `${counted(exited, "player leaves", "players leave")} the journey ${JSON.stringify(name)}.`,
        ...(playerIds ? [`The call names ${await namedPlayers(context, playerIds)}.`] : []),
      ],
    });
    context.audit({ entity: "journeys", entityId: journeyId });
    return { success: true as const, exited };
  },
});
