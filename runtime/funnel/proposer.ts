import type { ProposedCall } from "#runtime/operation/context.ts";
import type { Running } from "./transaction.ts";

const GONE: Readonly<Record<string, string>> = {
  api_key: "the API key that proposed it, which has been revoked",
  user: "the person who proposed it, who may no longer act in this property",
};

/**
 * The proposer who lost the right to act since, in words; null for one who still has it. A person takes the right away
 * because something was wrong, so nobody approves what was proposed before. A key that has only expired was right. It is
 * asked in the call's own transaction: one that waits for a second connection would block where all wait.
 */
export async function goneProposer(
  { sql }: Running,
  { type, id }: ProposedCall["proposed_by"],
): Promise<string | null> {
  const words = GONE[type];
  if (id === null || words === undefined) return null;
  const [asked] = await sql<{ acts: boolean }[]>`select still_acts(${type}, ${id}) as acts`;
  return asked!.acts ? null : words;
}
