import { z } from "zod";
import type { ReadBack } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { needsAnother } from "./four-eyes.ts";
import { findProposal, type Proposal, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "preview_proposal",
  title: "Preview a proposal",
  description:
    "Shows what a proposed call would do now: for a campaign its audience, who is left out and why, its cost and three messages; for a campaign or a journey the whole message to one player as the call would leave it. Names what has changed since it was proposed. Changes nothing.",
  scope: "read",
  effect: "read",
  decides: true,
  discarded: true,
  heavy: true,
  deadline: 60_000,
  property: "propertyId",
  input: {
    proposalId: z.uuid().describe("From list_proposals"),
    propertyId: z.uuid(),
    playerId: z.uuid().optional().describe("The player of the whole message. Default: made-up values"),
    variantId: z
      .string()
      .optional()
      .describe("Of the campaign's ab_test, or the message's node of a journey. Default: the first"),
  },
  output: z.object({
    proposal: ProposalView,
    preview: z
      .unknown()
      .describe("The call's own dry run; null once the proposal has ended, or where the call is impossible"),
    shown: z
      .unknown()
      .describe(
        "The answer of preview_campaign or preview_journey_message after the call; null without a message, and once the proposal has ended",
      ),
    sentences: z.array(z.string()).describe("The present preview in words"),
    stale: z.array(z.string()).describe("Changes since the proposal. With any of them it cannot be approved"),
    needs_another: z.boolean().describe("true: under four eyes another person must approve it, not you"),
  }),
  faults: ["not_found"],
  async handler(context, { proposalId, playerId, variantId }) {
    const proposal = await findProposal(context, proposalId);
    const needs_another = needsAnother(context, proposal);
    const waits = proposal.status === "waiting" && Date.parse(proposal.expires_at) > context.now();
    const row = viewed(proposal);
    if (!waits) return { proposal: row, preview: null, shown: null, sentences: [], stale: [], needs_another };
    const readBack = readBackOf(proposal, context.property.id, { playerId, variantId });
    const { result, seen, sentences, stale } = await context.tryOut!(proposal, readBack);
    return { proposal: row, preview: result, shown: seen, sentences, stale, needs_another };
  },
});

interface Chosen {
  playerId: string | undefined;
  variantId: string | undefined;
}

/** The read that shows a message of the call's campaign or journey; none for other calls. */
function readBackOf(
  { tool: proposed, input }: Proposal,
  propertyId: string,
  { playerId, variantId }: Chosen,
): ReadBack | undefined {
  const player = playerId === undefined ? {} : { playerId };
  if (proposed === "publish_journey") {
    const node = variantId === undefined ? {} : { node: variantId };
    return {
      tool: "preview_journey_message",
      input: { journeyId: input.journeyId, propertyId, ...node, ...player },
    };
  }
  const campaignId =
    input.campaignId ?? input.campaign_id ?? (proposed === "update_campaign" ? input.id : undefined);
  if (typeof campaignId !== "string") return undefined;
  const variant = variantId === undefined ? {} : { variantId };
  return { tool: "preview_campaign", input: { campaignId, propertyId, ...variant, ...player } };
}
