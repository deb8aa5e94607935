import type { Context } from "#runtime/operation/context.ts";
import checkProposals from "./check-proposals.job.ts";
import { waitingIn } from "./waiting.ts";

/** Has the waiting proposals checked behind a call that has changed what they may be about. */
export async function recheckProposals(
  context: Pick<Context, "sql" | "property" | "enqueue">,
): Promise<void> {
  const { sql, property, enqueue } = context;
  const waiting = await waitingIn({ sql, property }, 1);
  if (waiting.length > 0) enqueue(checkProposals, {}, { dedupe: property.id });
}
