import { randomUUIDv7 } from "node:crypto";
import { cte, type Fragment, type Sql, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type EventName, subscriptionsFor } from "#runtime/operation/events.ts";
import { traceparent } from "#runtime/telemetry/activity.ts";

export interface PendingEvent {
  type: EventName;
  object: object;
  previous?: object | undefined;
  /** The traceparent for the deliveries. */
  trace: string | null;
}

export interface PendingJob {
  name: string;
  attempts: number;
  input: unknown;
  dedupe?: string | undefined;
  mergeKey?: string | undefined;
  runAt?: string | number | undefined;
  trace: string | null;
}

/** The events and jobs of one transaction; its last statement writes them. */
export interface PendingEffects extends Pick<Context, "emit" | "enqueue"> {
  events: PendingEvent[];
  jobs: PendingJob[];
}

export function pendingEffects(): PendingEffects {
  const events: PendingEvent[] = [];
  const jobs: PendingJob[] = [];
  return {
    events,
    jobs,
    emit: (type, object, previous) => void events.push({ type, object, previous, trace: traceparent() }),
    enqueue: ({ name, attempts, input: schema }, input, options) =>
      void jobs.push({ name, attempts, input: schema.parse(input), trace: traceparent(), ...options }),
  };
}

/** The job that delivers one endpoint's webhooks; its input is `{ endpointId }`. */
export const DELIVER_WEBHOOKS = { name: "deliver_webhooks", attempts: 20 } as const;

/**
 * The statements that write events with their deliveries, and jobs. An event is stored only for a subscribed active
 * endpoint.
 */
export function effectStatements(
  property: string | null,
  { events, jobs }: Pick<PendingEffects, "events" | "jobs">,
): Fragment[] {
  return [
    ...(events.length > 0 ? eventStatements(property, events) : []),
    ...(jobs.length > 0 ? [queued(property, jobs)] : []),
  ];
}

/** Of several jobs with one dedupe value, the earliest. */
function queued(property: string | null, jobs: PendingJob[]): Fragment {
  return sql`
    insert into queue (id, name, property_id, input, dedupe, merge_key, max_attempts, trace, run_at)
    select distinct on (name, once) uuid_v7(), name, ${property}::uuid, input, dedupe, merge_key, attempts,
      trace, coalesce(run_at, now() + make_interval(secs => delay)) as due
    from jsonb_to_recordset(${jobs.map(jobRow)}::jsonb)
      as j(name text, once text, input jsonb, dedupe text, merge_key text, attempts int, delay double precision,
        run_at timestamptz, trace text)
    order by name, once, due
    on conflict (name, dedupe) where state = 'ready' and dedupe is not null
      do update set run_at = least(queue.run_at, excluded.run_at)`;
}

/**
 * A delivery job for each endpoint of a relation, with its trace. The jobs of one endpoint merge when one is claimed. A unique key
 * here would make the writers of events wait for one another's commits.
 */
function called(property: string | null, endpoints: Fragment): Fragment {
  return sql`
    insert into queue (id, name, property_id, input, merge_key, max_attempts, trace)
    select uuid_v7(), ${DELIVER_WEBHOOKS.name}::text, ${property}::uuid,
      jsonb_build_object('endpointId', endpoint_id), endpoint_id, ${DELIVER_WEBHOOKS.attempts}::int, trace
    from ${endpoints}
    returning 1`;
}

function jobRow(job: PendingJob, index: number) {
  return {
    name: job.name,
    once: job.dedupe === undefined ? `#${index}` : `=${job.dedupe}`,
    input: job.input,
    dedupe: job.dedupe ?? null,
    merge_key: job.mergeKey ?? null,
    attempts: job.attempts,
    delay: typeof job.runAt === "number" ? job.runAt : 0,
    run_at: typeof job.runAt === "string" ? job.runAt : null,
    trace: job.trace,
  };
}

// Each statement asks for the receivers itself: a distributed database sends rows that an insert reads from another
// part to all of its nodes, and fails where one is down.

/** An endpoint that subscribes in between gets no event: the event was not stored for it. */
function eventStatements(property: string | null, events: PendingEvent[]): Fragment[] {
  return events.length === 1 ? oneEvent(property, events[0]!) : manyEvents(property, events);
}

function oneEvent(property: string | null, event: PendingEvent): Fragment[] {
  const { id, type, wanted, data, trace } = eventRow(event);
  const receiver = sql`(
    select id as endpoint_id from webhook_endpoints
    where property_id = ${property}::uuid and is_active and events && ${wanted}::text[]) r`;
  const stored = sql`
    insert into outbox (property_id, id, type, data)
    select ${property}::uuid, ${id}::uuid, ${type}::text, ${data}::jsonb
    where exists (select from ${receiver})
    returning 1`;
  const delivery = sql`
    insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
    select ${property}::uuid, uuid_v7_of(${id}::uuid), ${id}::uuid, ${type}::text, endpoint_id from ${receiver}
    where exists (select from outbox where property_id = ${property}::uuid and id = ${id}::uuid)
    returning 1`;
  const traced = sql`(select endpoint_id, ${trace}::text as trace from ${receiver}) t`;
  return [stored, delivery, called(property, traced)];
}

function manyEvents(property: string | null, events: PendingEvent[]): Fragment[] {
  const rows = events.map(eventRow);
  const event = sql`jsonb_to_recordset(${rows.map(({ id, type, data }) => ({ id, type, data }))}::jsonb) as e(id uuid, type text, data jsonb)`;
  const named = sql`jsonb_to_recordset(${rows.map(({ data: _, ...row }) => row)}::jsonb) as e(id uuid, type text, wanted text[], trace text)`;
  const receiver = sql`(
    select e.id as event_id, e.type, w.id as endpoint_id, e.trace
    from webhook_endpoints w join ${named} on w.events && e.wanted
    where w.property_id = ${property}::uuid and w.is_active) r`;
  const stored = sql`
    insert into outbox (property_id, id, type, data)
    select ${property}::uuid, id, type, data from ${event} where id in (select event_id from ${receiver})
    returning 1`;
  const delivery = sql`
    insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
    select ${property}::uuid, uuid_v7_of(event_id), event_id, type, endpoint_id from ${receiver}
    where event_id in (
      select id from outbox where property_id = ${property}::uuid and id = any(${rows.map(({ id }) => id)}::uuid[]))
    returning 1`;
  const endpoints = sql`(select distinct on (endpoint_id) endpoint_id, trace from ${receiver}) d`;
  return [stored, delivery, called(property, endpoints)];
}

function eventRow({ type, object, previous, trace }: PendingEvent) {
  return {
    id: randomUUIDv7(),
    trace,
    type,
    data: { object, ...(previous && { previous }) },
    wanted: subscriptionsFor(type),
  };
}

/** Whether an active endpoint has subscribed to one of the events. */
export async function isHeard(
  transaction: Sql,
  property: string,
  types: readonly EventName[],
): Promise<boolean> {
  const wanted = types.flatMap(subscriptionsFor);
  const [some] = await transaction<{ exists: boolean }[]>`select exists (${receivers(property, wanted)})`;
  return some!.exists;
}

function receivers(property: string, wanted: readonly string[]): Fragment {
  return sql`
    select id as endpoint_id from webhook_endpoints
    where property_id = ${property} and is_active and events && ${wanted}::text[]`;
}

/**
 * Writes one event for each row of a query, for set-based writers. Its column `object` (jsonb) is the event's object,
 * and a column `previous` the former values. The query runs only when an active endpoint has subscribed. Answers the
 * number of queued jobs.
 */
export async function emitMany(
  transaction: Sql,
  property: string,
  type: EventName,
  rows: Fragment,
): Promise<number> {
  if (!(await isHeard(transaction, property, [type]))) return 0;
  const receiver = receivers(property, subscriptionsFor(type));
  const event = sql`select uuid_v7() as id, to_jsonb(r) as data from (${rows}) r`;
  const stored = sql`
    insert into outbox (property_id, id, type, data)
    select ${property}::uuid, id, ${type}::text, data from event
    returning 1`;
  const delivery = sql`
    insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
    select ${property}::uuid, uuid_v7_of(event.id), event.id, ${type}::text, endpoint_id from event, receiver
    returning 1`;
  const endpoints = sql`(
    select endpoint_id, ${traceparent()}::text as trace from receiver where exists (select from event)) r`;
  const [written] = await transaction<{ jobs: number }[]>`
    with ${cte("receiver", receiver, "materialized")}, ${cte("event", event)}, ${cte("stored", stored)},
      ${cte("delivery", delivery)}, ${cte("called", called(property, endpoints))}
    select count(*)::int as jobs from called`;
  return written!.jobs;
}
