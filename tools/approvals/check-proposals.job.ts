import { z } from "zod";
import { toFault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { changedWords, end } from "./proposal.ts";

/** The most proposals of one run: each is a dry run of its call. The next run goes on with the others. */
const MOST_CHECKED = 50;

/** Ends the waiting proposals of a property whose subject has changed, so that their agents learn it at once. */
export default job({
  name: "check_proposals",
  attempts: 3,
  input: z.object({}),
  async handler(context) {
    const waiting = await context.transact(longestUnchecked);
    for (const id of waiting) {
      if (context.signal.aborted) return;
      await check(context, id);
    }
  },
});

async function longestUnchecked({ sql, property }: Tenant): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from proposals
    where property_id = ${property.id} and status = 'waiting' and expires_at > now()
    order by checked_at nulls first, id limit ${MOST_CHECKED}`;
  return rows.map(({ id }) => id);
}

async function check({ runtime, propertyId, transact, log }: JobContext, id: string): Promise<void> {
  const stale = await runtime
    .run("preview_proposal", propertyId!, { proposalId: id })
    .then((previewed) => (previewed as { stale: string[] }).stale)
    .catch((error: unknown) => {
      if (toFault(error).status >= 500) throw error;
      log.debug({ err: error, proposalId: id }, "a proposal is not there any more");
      return [];
    });
  await transact(async (context) => {
    const { sql, property } = context;
    // A person may have decided meanwhile.
    const [open] = await sql`
      with clock as materialized (select now() as moment)
      update proposals set checked_at = moment from clock
      where property_id = ${property.id} and id = ${id} and status = 'waiting' returning id`;
    if (open && stale.length > 0)
      await end(context, { id }, { status: "stale", reason: changedWords(stale) });
  });
}
