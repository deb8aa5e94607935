import { randomUUIDv7 } from "node:crypto";
import type { Sql } from "#db/client.ts";
import { atOnce, type Part } from "#db/statement.ts";
import { type EventName, subscriptionsFor } from "./events.ts";

export interface PendingEvent {
  type: EventName;
  /** `answered`: the row that the statement itself inserts. */
  object: object | "answered";
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

/** Writes a transaction's events with their deliveries, and its jobs. */
export function flush(sql: Sql, property: string | null, events: PendingEvent[], jobs: PendingJob[]) {
  return atOnce(sql, effectParts(property, events, jobs));
}

/**
 * The parts that write events with their deliveries, and jobs. An event that no active endpoint has asked for
 * is not stored.
 */
export function effectParts(property: string | null, events: PendingEvent[], jobs: PendingJob[]): Part[] {
  return [
    ...(events.length === 1 ? [onePart(property, events[0]!)] : []),
    ...(events.length > 1 ? manyParts(property, events) : []),
    ...(jobs.length > 0 ? [{ text: QUEUED, values: { property, jobs: jobs.map(jobRow) } }] : []),
  ];
}

const calls = (endpoints: string) => `called as (
  insert into queue (id, name, property_id, input, max_attempts)
  select uuid_v7(), '${DELIVER_WEBHOOKS.name}', $property::uuid, jsonb_build_object('endpointId', endpoint_id),
    ${DELIVER_WEBHOOKS.attempts}
  from ${endpoints})`;

const QUEUED = `queued as (
  insert into queue (id, name, property_id, input, dedupe, max_attempts, run_at)
  select uuid_v7(), name, $property::uuid, input, dedupe, attempts,
    coalesce(run_at, now() + make_interval(secs => delay))
  from jsonb_to_recordset($jobs::jsonb)
    as j(name text, input jsonb, dedupe text, attempts int, delay double precision, run_at timestamptz)
  on conflict (name, dedupe) where state = 'ready' and dedupe is not null
    do update set run_at = least(queue.run_at, excluded.run_at))`;

function jobRow(job: PendingJob) {
  return {
    name: job.name,
    input: job.input,
    dedupe: job.dedupe ?? null,
    attempts: job.attempts,
    delay: typeof job.runAt === "number" ? job.runAt : 0,
    run_at: typeof job.runAt === "string" ? job.runAt : null,
  };
}

const ANSWERED = "jsonb_build_object('object', body::jsonb) from answered";

const oneText = (data: string) => `receiver as materialized (
    select id as endpoint_id from webhook_endpoints
    where property_id = $property::uuid and is_active and events && $event_wanted::text[]
  ), stored as (
    insert into outbox (property_id, id, type, data)
    select $property::uuid, $event_id::uuid, $event_type::text, ${data} where exists (select from receiver)
  ), delivery as (
    insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
    select $property::uuid, uuid_v7(), $event_id::uuid, $event_type::text, endpoint_id from receiver
  ), ${calls("receiver")}`;
const ANSWERED_EVENT = oneText(ANSWERED);
const GIVEN_EVENT = oneText("$event_data::jsonb");

function onePart(property: string | null, event: PendingEvent): Part {
  const isAnswered = event.object === "answered";
  const { id, type, wanted, data } = eventRow(event);
  return {
    text: isAnswered ? ANSWERED_EVENT : GIVEN_EVENT,
    values: {
      property,
      event_id: id,
      event_type: type,
      event_wanted: wanted,
      ...(!isAnswered && { event_data: data }),
    },
  };
}

function manyParts(property: string | null, events: PendingEvent[]): Part[] {
  const isAnswered = events.some(({ object }) => object === "answered");
  const text = `event as materialized (
    select id, type, ${isAnswered ? `coalesce(data, (select ${ANSWERED}))` : ""} data, wanted
    from jsonb_to_recordset($events::jsonb) as e(id uuid, type text, data jsonb, wanted text[]))`;
  return [{ text, values: { property, events: events.map(eventRow) } }, TOLD];
}

function eventRow({ type, object, previous }: PendingEvent) {
  return {
    id: randomUUIDv7(),
    type,
    data: object === "answered" ? null : { object, ...(previous && { previous }) },
    wanted: subscriptionsFor(type),
  };
}

const TOLD: Part = {
  text: `
    receiver as materialized (
      select e.id as event_id, e.type, w.id as endpoint_id
      from webhook_endpoints w join event e on w.events && e.wanted
      where w.property_id = $property::uuid and w.is_active
    ), stored as (
      insert into outbox (property_id, id, type, data)
      select $property::uuid, id, type, data from event where id in (select event_id from receiver)
    ), delivery as (
      insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
      select $property::uuid, uuid_v7(), event_id, type, endpoint_id from receiver
    ), ${calls("(select distinct endpoint_id from receiver) r")}`,
  values: {},
};

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
