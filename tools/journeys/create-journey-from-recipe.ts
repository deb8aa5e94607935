import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { insert } from "#runtime/operation/rows.ts";
import { columns } from "./journey/columns.ts";
import { JourneyView } from "./journey/journey.ts";
import journeys from "./journeys.table.ts";
import { draftOf, RecipeSettings } from "./recipes/recipes.ts";

export default tool({
  name: "create_journey_from_recipe",
  title: "Create a journey from a recipe",
  description:
    "Creates the draft of a usual journey, an automation of messages and waits: a welcome, a win-back of lapsed players, a birthday, a new tier, thanks for a visit, or a check-in after a big loss (which tells a host, and writes to nobody). Its texts are to be edited; validate_journey checks it, publish_journey starts it.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    settings: RecipeSettings,
    name: z.string().trim().min(1).max(150).optional().describe("Default: the recipe's"),
  },
  output: z.object({ success: z.literal(true), journey: JourneyView }),
  faults: ["invalid", "conflict"],
  async handler(context, { settings, name }) {
    const { draft_definition, reentry, goal, description } = draftOf(settings);
    const journey = await insert(context, journeys, {
      name: name ?? settings.recipe.replaceAll("_", " "),
      description,
      draft_definition: columns.draft_definition.schema.parse(draft_definition),
      reentry: columns.reentry.schema.parse(reentry),
      goal: columns.goal.schema.parse(goal) ?? null,
    });
    context.audit({ entity: "journeys", entityId: journey.id });
    return { success: true as const, journey };
  },
});
