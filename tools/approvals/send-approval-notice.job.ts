import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { literals } from "#db/sql.ts";
import { enqueue } from "#runtime/jobs/queue.ts";
import { job } from "#runtime/operation/job.ts";
import { ACTING_ROLES } from "#runtime/roles.ts";
import mailApprovals from "./mail-approvals.job.ts";
import { waitingIn } from "./waiting.ts";

const SELF = { name: "send_approval_notice", attempts: 5, input: z.object({}) };

/**
 * Tells the people who may approve that something waits. A property gets at most one such mail in half an hour; those
 * that come sooner wait for the next one.
 */
export default job({
  ...SELF,
  sends: true,
  async handler({ propertyId, transact, transactSystem }) {
    const waiting = await transact((context) => waitingIn(context, 1));
    if (waiting.length > 0) await transactSystem((sql) => tell(sql, propertyId!));
  },
});

async function tell(sql: Sql, propertyId: string): Promise<void> {
  const [property] = await sql<{ again: string | null }[]>`
    select case when approvals_mailed_at > now() - interval '30 minutes'
      then to_json(approvals_mailed_at + interval '30 minutes') #>> '{}' end as again
    from properties where id = ${propertyId} and approval_mail = 'on' for update`;
  if (!property) return;
  if (property.again !== null) {
    await enqueue(sql, SELF, {}, { propertyId, dedupe: propertyId, runAt: property.again });
    return;
  }
  await sql`update properties set approvals_mailed_at = now() where id = ${propertyId}`;
  const people = await sql<{ id: string }[]>`
    select u.id from memberships m join users u on u.id = m.user_id
    where m.property_id = ${propertyId} and m.role in (${literals(ACTING_ROLES)}) and u.is_active order by u.id`;
  for (const { id } of people) await enqueue(sql, mailApprovals, { userId: id }, { propertyId });
}
