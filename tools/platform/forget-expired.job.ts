import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";

const BATCH = 10_000;

/**
 * Deletes expired rows. After 24 hours: recorded answers, agents' confirmations, rate windows, reset links and invitations. After 30
 * days: vendors' notices (no vendor repeats older ones), settled webhook deliveries with their events, and dead jobs.
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
      await sql`delete from invitations where expires_at < now()`;
      await sql`delete from platform_messages where created_at < now() - interval '1 day'`;
    });
    await transactSystem(
      (sql) => sql`delete from provider_notices where received_at < now() - interval '30 days'`,
    );
    for (const remove of [answers, confirmations, jobs]) await toTheEnd(context, remove);
    const properties = await transactSystem((sql) => sql<{ id: string }[]>`select id from properties`);
    // A distributed database cannot delete a batch of each property in one statement.
    for (const { id } of properties) {
      for (const remove of [deliveries, events]) await toTheEnd(context, (sql) => remove(sql, id));
    }
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

/** A redelivered webhook stays for another 30 days. */
const deliveries = (sql: Sql, propertyId: string) => sql`
  delete from webhook_deliveries d using (
    select id from webhook_deliveries
    where property_id = ${propertyId} and created_at < now() - interval '30 days'
      and updated_at < now() - interval '30 days' and status <> 'pending'
    order by created_at, id limit ${BATCH}) old
  where d.property_id = ${propertyId} and d.id = old.id and d.status <> 'pending'
    and d.updated_at < now() - interval '30 days'`;

/** Selected by id, which begins with the millisecond of creation: the table has no index by time. */
const events = (sql: Sql, propertyId: string) => sql`
  delete from outbox e using (
    select x.id from outbox x
    where x.property_id = ${propertyId} and x.id < (${firstMilliseconds(sql)} || repeat('0', 20))::uuid
      and x.occurred_at < now() - interval '30 days'
      and not exists (
        select from webhook_deliveries w where w.property_id = ${propertyId} and w.event_id = x.id)
    order by x.id limit ${BATCH}) old
  where e.property_id = ${propertyId} and e.id = old.id`;

/** The input of a dead job may name persons. */
const jobs: Removal = (sql) => sql`
  delete from queue where id in (
    select id from queue
    where state = 'dead' and run_at < now() - interval '30 days' limit ${BATCH})`;

function firstMilliseconds(sql: Sql) {
  return sql`lpad(to_hex(floor(extract(epoch from now() - interval '30 days') * 1000)::bigint), 12, '0')`;
}
