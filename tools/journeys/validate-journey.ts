import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { Problem } from "./definition/structure.ts";
import { findJourney } from "./journey/journey.ts";
import { draftProblems } from "./publishing/problems.ts";

export default tool({
  name: "validate_journey",
  title: "Check a journey",
  description:
    "Names every problem of a journey's draft at once, each with its node and remedy. publish_journey refuses a draft with errors.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: { journeyId: z.uuid().describe("From list_journeys"), propertyId: z.uuid() },
  output: z.object({
    ok: z.boolean().describe("It can be published"),
    errors: z.array(Problem),
    warnings: z.array(Problem),
  }),
  faults: ["not_found"],
  async handler(context, { journeyId }) {
    const { errors, warnings } = await draftProblems(context, await findJourney(context, journeyId));
    return { ok: errors.length === 0, errors, warnings };
  },
});
