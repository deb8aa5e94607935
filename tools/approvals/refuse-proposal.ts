import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { emailOf, end, lockWaiting, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "refuse_proposal",
  title: "Refuse a proposal",
  description:
    "Ends a proposal without doing it, and tells the proposing agent why. Only a signed-in admin or manager of the property may refuse.",
  scope: "write",
  effect: "change",
  access: "person",
  property: "propertyId",
  input: {
    proposalId: z.uuid().describe("From list_proposals"),
    propertyId: z.uuid(),
    reason: z
      .string()
      .trim()
      .min(1)
      .max(1000)
      .describe("For the agent, which may see masked data alone, and the audit log: name no player"),
  },
  output: z.object({ success: z.literal(true), proposal: ProposalView }),
  faults: ["not_found", "conflict", "forbidden"],
  async handler(context, { proposalId, reason }) {
    const proposal = await lockWaiting(context, proposalId);
    const { tool: proposed, shown_hash } = proposal;
    const diff = { tool: proposed, shown_hash, ...emailOf(context), status: "refused", reason };
    context.audit({ entity: "proposals", entityId: proposalId, diff });
    const ended = await end(context, proposal, { status: "refused", reason, by: context.call.actor });
    return { success: true as const, proposal: viewed(ended) };
  },
});
