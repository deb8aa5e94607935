import { randomUUIDv7 } from "node:crypto";
import type postgres from "postgres";
import type { Sql } from "#db/client.ts";
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
  return atOnce(sql, effectParts(sql, property, events, jobs));
}

/** One statement of several parts, each `name as (insert …)`: a round trip and a plan instead of many. */
export function atOnce<Row extends object>(sql: Sql, parts: Fragment[], result = sql`1`) {
  return sql<
    Row[]
  >`with ${parts.map((part, index) => (index === 0 ? part : sql`, ${part}`))} select ${result}`;
}

type Fragment = postgres.Fragment;

/**
 * The parts that write events with their deliveries, and jobs. An event that no active endpoint has asked for
 * is not stored.
 */
export function effectParts(
  sql: Sql,
  property: string | null,
  events: PendingEvent[],
  jobs: PendingJob[],
): Fragment[] {
  const told = events.length > 0 ? eventParts(sql, property, events) : [];
  const wanted = [
    ...(events.length > 0
      ? [
          sql`
          select ${DELIVER_WEBHOOKS.name}::text as name, jsonb_build_object('endpointId', endpoint_id) as input,
            null::text as dedupe, ${DELIVER_WEBHOOKS.attempts}::int as attempts, now() as run_at
          from (select distinct endpoint_id from receiver) r`,
        ]
      : []),
    ...(jobs.length > 0 ? [wantedJobs(sql, jobs)] : []),
  ];
  if (wanted.length === 0) return [];
  const all = wanted.map((part, index) => (index === 0 ? part : sql`union all ${part}`));
  return [
    ...told,
    sql`queued as (
      insert into queue (id, name, property_id, input, dedupe, max_attempts, run_at)
      select uuid_v7(), name, ${property}, input, dedupe, attempts, run_at from (${all}) w
      on conflict (name, dedupe) where state = 'ready' and dedupe is not null
        do update set run_at = least(queue.run_at, excluded.run_at)
    )`,
  ];
}

function eventParts(sql: Sql, property: string | null, events: PendingEvent[]): Fragment[] {
  const rows = events.map((event) => ({
    id: randomUUIDv7(),
    type: event.type,
    data:
      event.object === "answered"
        ? null
        : { object: event.object, ...(event.previous && { previous: event.previous }) },
    wanted: subscriptionsFor(event.type),
  }));
  const data = events.some(({ object }) => object === "answered")
    ? sql`coalesce(data, (select jsonb_build_object('object', body::jsonb) from answered)) as data`
    : sql`data`;
  return [
    sql`event as materialized (
      select id, type, ${data}, wanted from jsonb_to_recordset(${rows as never}::jsonb)
        as e(id uuid, type text, data jsonb, wanted text[])
    )`,
    sql`receiver as materialized (
      select e.id as event_id, e.type, w.id as endpoint_id
      from webhook_endpoints w join event e on w.events && e.wanted
      where w.property_id = ${property} and w.is_active
    )`,
    sql`stored as (
      insert into outbox (property_id, id, type, data)
      select ${property}, id, type, data from event where id in (select event_id from receiver)
    )`,
    sql`delivery as (
      insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
      select ${property}, uuid_v7(), event_id, type, endpoint_id from receiver
    )`,
  ];
}

function wantedJobs(sql: Sql, jobs: PendingJob[]): Fragment {
  const rows = jobs.map((job) => ({
    name: job.name,
    input: job.input,
    dedupe: job.dedupe ?? null,
    attempts: job.attempts,
    delay: typeof job.runAt === "number" ? job.runAt : 0,
    run_at: typeof job.runAt === "string" ? job.runAt : null,
  }));
  return sql`
    select name, input, dedupe, attempts, coalesce(run_at, now() + make_interval(secs => delay)) as run_at
    from jsonb_to_recordset(${rows as never}::jsonb)
      as j(name text, input jsonb, dedupe text, attempts int, delay double precision, run_at timestamptz)`;
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
