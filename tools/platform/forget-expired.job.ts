import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";

const BATCH = 10_000;

/**
 * Deletes expired rows. After 24 hours: recorded answers, agents' confirmations, rate windows, reset links and
 * invitations. After 30 days: vendors' notices (no vendor repeats older ones) and dead jobs.
 */
export default job({
  name: "forget_expired",
  attempts: 3,
  every: "7 * * * *",
  input: z.object({}),
  async handler(context) {
    const { transactSystem } = context;
    await transactSystem(
      (sql) => sql`
      delete from rate_windows where window_start < extract(epoch from now()) - 3600`,
    );
    await transactSystem(async (sql) => {
      await sql`delete from password_resets where expires_at < now()`;
      await sql`delete from ended_sessions where expires_at < now()`;
      await sql`delete from invitations where expires_at < now()`;
      await sql`delete from platform_messages where created_at < now() - interval '1 day'`;
    });
    await transactSystem(
      (sql) => sql`delete from provider_notices where received_at < now() - interval '30 days'`,
    );
    for (const remove of [answers, confirmations, jobs]) await toTheEnd(context, remove);
  },
});

type Removal = (sql: Sql) => PromiseLike<{ count: number }>;

async function toTheEnd({ transactSystem, signal }: JobContext, remove: Removal): Promise<void> {
  for (let removed = BATCH; removed === BATCH && !signal.aborted; ) {
    removed = (await transactSystem(async (sql) => await remove(sql))).count;
  }
}

const answers: Removal = (sql) => sql`
  delete from idempotency_records where (property_id, key) in (
    select property_id, key from idempotency_records where expires_at <= now() limit ${BATCH})`;

const confirmations: Removal = (sql) => sql`
  delete from agent_confirmations where (property_id, id) in (
    select property_id, id from agent_confirmations where expires_at <= now() limit ${BATCH})`;

/** The input of a dead job may name persons. */
const jobs: Removal = (sql) => sql`
  delete from queue where id in (
    select id from queue
    where state = 'dead' and run_at < now() - interval '30 days' limit ${BATCH})`;
