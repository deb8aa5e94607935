import { z } from "zod";
import type { Sql } from "#db/client.ts";
import { type JobContext, job } from "#runtime/operation.ts";

const BATCH = 10_000;

/**
 * Removes what has run out: recorded answers after their 24 hours, what agents were to confirm, counts of windows and reset links long past, the
 * vendors' notices that none of them repeats any more, and callbacks that were settled, and jobs that have failed for
 * good, thirty days ago.
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
      await sql`delete from platform_messages where created_at < now() - interval '1 day'`;
    });
    await transactSystem(
      (sql) => sql`delete from provider_notices where received_at < now() - interval '30 days'`,
    );
    for (const remove of [answers, confirmations, deliveries, events, jobs]) await toTheEnd(context, remove);
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

/** One that was asked for again has its thirty days anew. */
const deliveries: Removal = (sql) => sql`
  delete from webhook_deliveries d using (
    select o.property_id, o.id from properties p cross join lateral (
      select property_id, id from webhook_deliveries w
      where w.property_id = p.id and w.created_at < now() - interval '30 days'
        and w.updated_at < now() - interval '30 days' and w.status <> 'pending'
      order by w.created_at, w.id limit ${BATCH}) o
    limit ${BATCH}) old
  where d.property_id = old.property_id and d.id = old.id and d.status <> 'pending'
    and d.updated_at < now() - interval '30 days'`;

/** Found by their ids, which begin with the millisecond in which they were made: they have no index by time. */
const events: Removal = (sql) => sql`
  delete from outbox e using (
    select o.property_id, o.id from properties p cross join lateral (
      select x.property_id, x.id from outbox x
      where x.property_id = p.id and x.id < (${firstMilliseconds(sql)} || repeat('0', 20))::uuid
        and x.occurred_at < now() - interval '30 days'
        and not exists (
          select from webhook_deliveries w where w.property_id = x.property_id and w.event_id = x.id)
      order by x.id limit ${BATCH}) o
    limit ${BATCH}) old
  where e.property_id = old.property_id and e.id = old.id`;

/** What they were about may name persons. */
const jobs: Removal = (sql) => sql`
  delete from queue where id in (
    select id from queue
    where state = 'dead' and run_at < now() - interval '30 days' limit ${BATCH})`;

function firstMilliseconds(sql: Sql) {
  return sql`lpad(to_hex(floor(extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0')`;
}
