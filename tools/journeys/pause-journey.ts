import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { checkStatus, findJourney, JourneyView } from "./journey/journey.ts";
import { pauseJourney } from "./pausing.ts";

export default tool({
  name: "pause_journey",
  title: "Pause a journey",
  description:
    "Stops a journey: nobody enters, nobody moves, and its messages wait. The players keep their places, and their waits run on.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    reason: z.string().trim().min(1).max(500).optional().describe("Kept as its status_reason"),
  },
  output: z.object({ success: z.literal(true), journey: JourneyView }),
  faults: ["not_found", "conflict"],
  async handler(context, { journeyId, reason }) {
    const journey = await findJourney(context, journeyId, { lock: "change" });
    checkStatus(journey, ["active"], "be paused");
    return { success: true as const, journey: await pauseJourney(context, journey, reason ?? null) };
  },
});
