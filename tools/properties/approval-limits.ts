import { Fault } from "#runtime/faults.ts";
import type { Call } from "#runtime/operation/context.ts";
import { roleIn } from "#runtime/roles.ts";

const LIMITS = [
  "approval_over_players",
  "approval_over_cost",
  "approval_four_eyes",
  "approval_growth_percent",
];

/**
 * The limits above which people approve are an admin's: neither an agent nor a manager who waits for another's approval
 * changes them. Throws `forbidden`.
 */
export function refuseUnlessAdmin(
  { actor, transport }: Call,
  propertyId: string,
  input: Readonly<Record<string, unknown>>,
): void {
  const named = LIMITS.filter((name) => input[name] !== undefined);
  if (named.length === 0) return;
  if (transport !== "mcp" && (actor.type === "system" || isAdmin(actor, propertyId))) return;
  throw new Fault("forbidden", {
    message: `${named.join(", ")}: only an admin of the property sets it, in the console, over REST or on the command line, and no agent.`,
  });
}

function isAdmin(actor: Call["actor"], propertyId: string): boolean {
  return actor.type === "user" && roleIn(actor, propertyId) === "admin";
}
