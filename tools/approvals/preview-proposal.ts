import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { needsAnother } from "./four-eyes.ts";
import { findProposal, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "preview_proposal",
  title: "Preview a proposal",
  description:
    "Shows what a proposed call would do now: for a campaign its audience, who is left out and why, its cost and three messages. Names what has changed since it was proposed. Changes nothing.",
  scope: "read",
  effect: "read",
  decides: true,
  discarded: true,
  heavy: true,
  deadline: 60_000,
  property: "propertyId",
  input: { proposalId: z.uuid().describe("From list_proposals"), propertyId: z.uuid() },
  output: z.object({
    proposal: ProposalView,
    preview: z.unknown().describe("The call's own dry run; null where it is not waiting or cannot be done"),
    sentences: z.array(z.string()).describe("The preview of now in words"),
    stale: z.array(z.string()).describe("What has changed since it was proposed: it cannot be approved then"),
    needs_another: z.boolean().describe("true: under four eyes another person must approve it, not you"),
  }),
  faults: ["not_found"],
  async handler(context, { proposalId }) {
    const proposal = await findProposal(context, proposalId);
    const needs_another = needsAnother(context, proposal);
    const waits = proposal.status === "waiting" && Date.parse(proposal.expires_at) > context.now();
    if (!waits) return { proposal: viewed(proposal), preview: null, sentences: [], stale: [], needs_another };
    const { result, sentences, stale } = await context.tryOut!(proposal);
    return { proposal: viewed(proposal), preview: result, sentences, stale, needs_another };
  },
});
