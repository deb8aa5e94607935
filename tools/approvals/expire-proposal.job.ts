import { z } from "zod";
import { job } from "#runtime/operation/job.ts";
import { EXPIRED, end } from "./proposal.ts";

/** Ends a proposal on which nobody has decided in time. */
export default job({
  name: "expire_proposal",
  attempts: 5,
  input: z.object({ proposalId: z.uuid() }),
  handler: ({ transact }, { proposalId }) =>
    transact(async (context) => {
      const { sql, property } = context;
      const [over] = await sql`
        select from proposals
        where property_id = ${property.id} and id = ${proposalId} and status = 'waiting' and expires_at <= now()
        for update`;
      if (over) await end(context, { id: proposalId }, { status: "expired", reason: EXPIRED });
    }),
});
