import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { type EventName, subscriptionsFor } from "./events.ts";

export interface PendingEvent {
  type: EventName;
  object: object;
  previous?: object | undefined;
}

export interface PendingJob {
  name: string;
  attempts: number;
  input: unknown;
  dedupe?: string | undefined;
  runAt?: string | number | undefined;
}

/** The job that delivers one endpoint's webhooks; its input is `{ endpointId }`. */
export const DELIVER_WEBHOOKS = { name: "deliver_webhooks", attempts: 20 } as const;

/**
 * One statement that writes a transaction's events with their deliveries, and its jobs. An event that no
 * active endpoint has asked for is not stored. Answers how many jobs are on the queue because of it.
 */
export function flush(sql: Sql, property: string | null, events: PendingEvent[], jobs: PendingJob[]) {
  const eventRows = events.map((event) => ({
    id: randomUUIDv7(),
    type: event.type,
    data: { object: event.object, ...(event.previous && { previous: event.previous }) },
    wanted: subscriptionsFor(event.type),
  }));
  const jobRows = jobs.map((job) => ({
    name: job.name,
    input: job.input,
    dedupe: job.dedupe ?? null,
    attempts: job.attempts,
    delay: typeof job.runAt === "number" ? job.runAt : 0,
    run_at: typeof job.runAt === "string" ? job.runAt : null,
  }));
  return sql<{ queued: number }[]>`
    with event as (
      select * from jsonb_to_recordset(${eventRows as never}::jsonb)
        as e(id uuid, type text, data jsonb, wanted text[])
    ), receiver as (
      select e.id as event_id, e.type, w.id as endpoint_id
      from event e join webhook_endpoints w
        on w.property_id = ${property} and w.is_active and w.events && e.wanted
    ), stored as (
      insert into outbox (property_id, id, type, data)
      select ${property}, id, type, data from event where id in (select event_id from receiver)
    ), delivery as (
      insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
      select ${property}, uuid_v7(), event_id, type, endpoint_id from receiver
    ), wanted as (
      select name, input, dedupe, attempts,
        coalesce(run_at, now() + make_interval(secs => delay)) as run_at
      from jsonb_to_recordset(${jobRows as never}::jsonb)
        as j(name text, input jsonb, dedupe text, attempts int, delay double precision, run_at timestamptz)
      union all
      select ${DELIVER_WEBHOOKS.name}, jsonb_build_object('endpointId', endpoint_id), null,
        ${DELIVER_WEBHOOKS.attempts}::int, now()
      from (select distinct endpoint_id from receiver) as r
    ), queued as (
      insert into queue (id, name, property_id, input, dedupe, max_attempts, run_at)
      select uuid_v7(), name, ${property}, input, dedupe, attempts, run_at from wanted
      on conflict (name, dedupe) where state = 'ready' and dedupe is not null
        do update set run_at = least(queue.run_at, excluded.run_at)
      returning 1
    )
    select count(*)::int as queued from queued`;
}

/**
 * Writes one event for each row of a query, whose one column is `object` (jsonb), for set-based writers. The
 * query does not run when no active endpoint has asked for the type. Answers how many jobs are queued by it.
 */
export async function emitMany(
  sql: Sql,
  property: string,
  type: EventName,
  rows: ReturnType<Sql>,
): Promise<number> {
  const asked = sql`
    select id from webhook_endpoints
    where property_id = ${property} and is_active and events && ${subscriptionsFor(type)}::text[]`;
  const [some] = await sql<{ exists: boolean }[]>`select exists (${asked})`;
  if (!some?.exists) return 0;
  const queued = await sql`
    with receiver as materialized (${asked}),
    event as materialized (
      select uuid_v7() as id, jsonb_build_object('object', r.object) as data from (${rows}) r
    ), stored as (
      insert into outbox (property_id, id, type, data)
      select ${property}, id, ${type}, data from event
    ), delivery as (
      insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
      select ${property}, uuid_v7(), event.id, ${type}, receiver.id from event, receiver
    )
    insert into queue (id, name, property_id, input, max_attempts)
    select uuid_v7(), ${DELIVER_WEBHOOKS.name}, ${property}, jsonb_build_object('endpointId', id),
      ${DELIVER_WEBHOOKS.attempts}
    from receiver where exists (select 1 from event)`;
  return queued.count;
}
