import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { findJourney } from "./journey/journey.ts";
import { differences } from "./report/recount.ts";

export default tool({
  name: "verify_journey",
  title: "Recount a journey",
  description:
    "Recounts a journey's edges from the paths of its players, and names each figure of the report that differs. None must.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  deadline: 60_000,
  input: { journeyId: z.uuid().describe("From list_journeys"), propertyId: z.uuid() },
  output: z.object({
    ok: z.boolean(),
    enrollments: z.int().describe("Paths that were read"),
    differences: z.array(
      z.object({
        from: z.string(),
        to: z.string(),
        counted: z.int().describe("By the report"),
        recounted: z.int().describe("By the paths"),
      }),
    ),
  }),
  faults: ["not_found"],
  async handler(context, { journeyId }) {
    await findJourney(context, journeyId);
    const { enrollments, rows } = await differences(context, journeyId);
    return { ok: rows.length === 0, enrollments, differences: rows };
  },
});
