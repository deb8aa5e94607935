import type { Context } from "#runtime/operation/context.ts";
import type { Proposal } from "./proposal.ts";

/** Whether the property wants four eyes, and the proposal is the caller's own or of a key that they have made. */
export function needsAnother({ property, call }: Context, { proposed_for }: Proposal): boolean {
  return property.approval_four_eyes === "on" && proposed_for === call.actor.id;
}
