import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { needsAnother } from "./four-eyes.ts";
import { findProposal, type Proposal, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "preview_proposal",
  title: "Preview a proposal",
  description:
    "Shows what a proposed call would do now: for a campaign its audience, who is left out and why, its cost, three messages, and the whole message to one player as the call would leave it. Names what has changed since it was proposed. Changes nothing.",
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
    variantId: z.string().optional().describe("Of the campaign's ab_test. Default: the first"),
  },
  output: z.object({
    proposal: ProposalView,
    preview: z.unknown().describe("The call's own dry run; null where it is not waiting or cannot be done"),
    shown: z
      .unknown()
      .describe(
        "The answer of preview_campaign after the call; null where it is about no campaign, or not waiting",
      ),
    sentences: z.array(z.string()).describe("The preview of now in words"),
    stale: z.array(z.string()).describe("What has changed since it was proposed: it cannot be approved then"),
    needs_another: z.boolean().describe("true: under four eyes another person must approve it, not you"),
  }),
  faults: ["not_found"],
  async handler(context, { proposalId, playerId, variantId }) {
    const proposal = await findProposal(context, proposalId);
    const needs_another = needsAnother(context, proposal);
    const waits = proposal.status === "waiting" && Date.parse(proposal.expires_at) > context.now();
    const row = viewed(proposal);
    if (!waits) return { proposal: row, preview: null, shown: null, sentences: [], stale: [], needs_another };
    const campaignId = campaignOf(proposal);
    const chosen = { ...(playerId && { playerId }), ...(variantId && { variantId }) };
    const look = campaignId && {
      tool: "preview_campaign",
      input: { campaignId, propertyId: context.property.id, ...chosen },
    };
    const { result, seen, sentences, stale } = await context.tryOut!(proposal, look || undefined);
    return { proposal: row, preview: result, shown: seen, sentences, stale, needs_another };
  },
});

/** The campaign whose message the call is about. */
function campaignOf({ tool: proposed, input }: Proposal): string | undefined {
  const named =
    input.campaignId ?? input.campaign_id ?? (proposed === "update_campaign" ? input.id : undefined);
  return typeof named === "string" ? named : undefined;
}
