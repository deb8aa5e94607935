import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { needsAnother } from "./four-eyes.ts";
import { changedWords, emailOf, end, lockWaiting, type Proposal, ProposalView, viewed } from "./proposal.ts";

export default tool({
  name: "approve_proposal",
  title: "Approve a proposal",
  description:
    "Does a proposed call as it was shown. Only a signed-in admin or manager of the property may approve, in the console or over REST; under four eyes not their own proposal. If what it is about has changed, nothing is done, and the proposal is stale.",
  scope: "write",
  effect: "change",
  access: "person",
  decides: true,
  heavy: true,
  deadline: 60_000,
  property: "propertyId",
  input: {
    proposalId: z.uuid().describe("From list_proposals"),
    propertyId: z.uuid(),
    shownHash: z.string().max(64).describe("The shown_hash of its preview: what you have seen"),
  },
  output: z.object({
    success: z.literal(true),
    proposal: ProposalView,
    result: z.unknown().describe("The answer of the approved call"),
  }),
  faults: ["not_found", "conflict", "forbidden"],
  async handler(context, { proposalId, shownHash }) {
    const proposal = await lockWaiting(context, proposalId);
    refuseOwn(context, proposal);
    if (shownHash !== proposal.shown_hash) {
      throw new Fault("conflict", {
        message: "shownHash is that of another proposal. Look at this one first.",
      });
    }
    const { tool: proposed, proposed_by, shown_hash } = proposal;
    const diff = { tool: proposed, shown_hash, proposed_by, ...emailOf(context) };
    const carried = await context.carryOut!(proposal);
    const by = context.call.actor;
    if ("stale" in carried) {
      const reason = changedWords(carried.stale);
      context.audit({
        entity: "proposals",
        entityId: proposalId,
        diff: { ...diff, status: "stale", reason },
      });
      await end(context, proposal, { status: "stale", reason, by });
      throw new Fault("conflict", { message: `Nothing was done. ${reason}.`, commitWrites: true });
    }
    context.audit({ entity: "proposals", entityId: proposalId, diff: { ...diff, status: "approved" } });
    const result = carried.subject;
    const ended = await end(context, proposal, { status: "approved", reason: null, by, result });
    return { success: true as const, proposal: viewed(ended), result: carried.result };
  },
});

function refuseOwn(context: Context, proposal: Proposal): void {
  if (!needsAnother(context, proposal)) return;
  throw new Fault("forbidden", {
    message:
      "This proposal is your own, or of a key that you have made. Under four eyes another person approves it.",
  });
}
