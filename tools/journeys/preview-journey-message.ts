import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ShownMessage, shownTo } from "#tools/campaigns/preview/shown.ts";
import { findJourney } from "./journey/journey.ts";
import { asCampaign, messageValues } from "./publishing/messages.ts";

export default tool({
  name: "preview_journey_message",
  title: "Show a journey's message to one player",
  description:
    "Renders a message of a journey's draft for one player, with its subject, preheader, size and links. The template's texts are those of now. Without a player, made-up values fill it. Changes nothing and sends nothing.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    node: z.string().optional().describe("The id of a message of the draft. Default: the first"),
    playerId: z.uuid().optional().describe("From list_players"),
  },
  output: ShownMessage.extend({
    node: z.string().nullable().describe("null: the draft has no message"),
    nodes: z.array(z.string()).describe("All messages of the draft"),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { journeyId, node: wanted, playerId }) {
    const journey = await findJourney(context, journeyId);
    const messages = journey.draft_definition.nodes.filter((one) => one.type === "message");
    const nodes = messages.map(({ id }) => id);
    const node = messages.find(({ id }) => id === (wanted ?? nodes[0]));
    if (!node) {
      if (wanted === undefined) return { node: null, nodes, message: null, problems: [] };
      throw new Fault("not_found", {
        message: `The draft has no message ${wanted}. Its messages: ${nodes.join(", ") || "none"}.`,
      });
    }
    const campaign = await asCampaign(context, await messageValues(context, journey, node));
    return { node: node.id, nodes, ...(await shownTo(context, campaign, { playerId })) };
  },
});
