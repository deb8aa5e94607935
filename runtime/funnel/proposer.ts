import type { ProposedCall } from "#runtime/operation/context.ts";
import { acts, roleIn } from "#runtime/roles.ts";
import type { Running } from "./transaction.ts";

/**
 * The proposer who lost the right to act since, in words; null for one who still has it. A person takes the right away
 * because something was wrong, so nobody approves what was proposed before. A key that has only expired was right.
 */
export async function goneProposer(
  { service: { directory }, property }: Running,
  { type, id }: ProposedCall["proposed_by"],
): Promise<string | null> {
  if (id === null) return null;
  if (type === "api_key") {
    const key = await directory.keyById(id);
    return key?.is_active ? null : "the API key that proposed it, which has been revoked";
  }
  if (type !== "user") return null;
  const user = await directory.user(id);
  const role = user && roleIn({ isPlatformAdmin: user.is_platform_admin, ...user }, property!.id);
  return acts(role) ? null : "the person who proposed it, who may no longer act in this property";
}
