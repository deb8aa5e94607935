import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { end, lockWaiting, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "withdraw_proposal",
  title: "Withdraw a proposal",
  description: "Takes back a waiting proposal of this credential. Nothing of it is done.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: { proposalId: z.uuid().describe("From list_proposals"), propertyId: z.uuid() },
  output: z.object({ success: z.literal(true), proposal: ProposalView }),
  faults: ["not_found", "conflict", "forbidden"],
  async handler(context, { proposalId }) {
    const proposal = await lockWaiting(context, proposalId);
    const { type, id } = context.call.actor;
    if (proposal.proposed_by.type !== type || proposal.proposed_by.id !== id) {
      throw new Fault("forbidden", {
        message: "Another credential has proposed this. A person of the property can refuse it.",
      });
    }
    const { tool: proposed, shown_hash } = proposal;
    const diff = { tool: proposed, shown_hash, status: "withdrawn" };
    context.audit({ entity: "proposals", entityId: proposalId, diff });
    const ended = await end(context, proposal, { status: "withdrawn", reason: null });
    return { success: true as const, proposal: viewed(ended) };
  },
});
