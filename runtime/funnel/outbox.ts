import { randomUUIDv7 } from "node:crypto";
import { cte, type Fragment, insertedRows, type Sql, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { EventName } from "#runtime/operation/events.ts";
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

/** A job by its name and merge key. */
export type QueuedJob = Pick<PendingJob, "name" | "mergeKey">;

/** The events and jobs of one transaction; its last statement writes them. */
export interface PendingEffects extends Pick<Context, "emit" | "enqueue"> {
  events: PendingEvent[];
  jobs: PendingJob[];
  /** The jobs that its commit left on the queue, those of events too: the workers are told of them. */
  queued: readonly QueuedJob[];
}

export function pendingEffects(): PendingEffects {
  const events: PendingEvent[] = [];
  const jobs: PendingJob[] = [];
  return {
    events,
    jobs,
    queued: [],
    emit: (type, object, previous) => void events.push({ type, object, previous, trace: traceparent() }),
    enqueue: ({ name, attempts, input: schema }, input, options) =>
      void jobs.push({ name, attempts, input: schema.parse(input), trace: traceparent(), ...options }),
  };
}

/** The job that delivers one endpoint's webhooks; its input is `{ endpointId }`. */
export const DELIVER_WEBHOOKS = { name: "deliver_webhooks", attempts: 20 } as const;

/** The most events in a row of the backlog, which one visit of the endpoint's job takes whole. */
const PART = 1_000;

/** The statements that write effects, and the jobs that these leave on the queue. */
interface EffectStatements {
  statements: Fragment[];
  queued: QueuedJob[];
}

/** Writes events with the endpoints that wait for them, and jobs. An event is stored only for a subscribed active endpoint. */
export async function effectStatements(
  transaction: Sql,
  property: string | null,
  { events, jobs }: Pick<PendingEffects, "events" | "jobs">,
): Promise<EffectStatements> {
  const heard = await eventStatements(transaction, property, events);
  return {
    statements: [...heard.statements, ...(jobs.length > 0 ? [queuedJobs(property, jobs)] : [])],
    queued: [...heard.queued, ...jobs],
  };
}

/** Of several jobs with one dedupe value, the earliest. */
function queuedJobs(property: string | null, jobs: PendingJob[]): Fragment {
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
 * A delivery job for each endpoint of a relation, with its trace. The jobs of one endpoint merge when one is claimed. A
 * unique key here would make the writers of events wait for one another's commits.
 */
function called(property: string | null, endpoints: Fragment): Fragment {
  return sql`
    insert into queue (id, name, property_id, input, merge_key, max_attempts, trace)
    select uuid_v7(), ${DELIVER_WEBHOOKS.name}::text, ${property}::uuid,
      jsonb_build_object('endpointId', endpoint_id), endpoint_id, ${DELIVER_WEBHOOKS.attempts}::int, trace
    from ${endpoints}
    returning 1`;
}

/**
 * The endpoints of a relation that no waiting job will serve. A waiting job is locked until this transaction ends, so
 * that none claims it before the events are there. The next writer passes over a locked job, and calls one of its own.
 */
function uncalled(endpoints: Fragment): Fragment {
  return sql`(
    select endpoint_id, trace
    from ${endpoints} left join lateral (
      select id from queue
      where name = ${DELIVER_WEBHOOKS.name}::text and merge_key = endpoint_id::text and state = 'ready'
        and run_at <= statement_timestamp()
      limit 1 for no key update skip locked) as waiting on true
    where waiting.id is null) as uncalled`;
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

interface Endpoint {
  endpoint_id: string;
  events: string[];
}

const asked = new WeakMap<Sql, Promise<readonly Endpoint[]>>();

/**
 * The property's active endpoints, asked for once a transaction. A call that is going to emit an event asks with its
 * first statement, so that the answer costs no round trip.
 */
export function endpointsOf(transaction: Sql, property: string | null): Promise<readonly Endpoint[]> {
  const known = asked.get(transaction);
  if (known !== undefined) return known;
  const asking = transaction<Endpoint[]>`
    select id as endpoint_id, events from webhook_endpoints
    where property_id = ${property}::uuid and is_active`.then((rows) => rows);
  // It fails with the transaction, and then nobody asks for the answer.
  asking.catch(() => {});
  asked.set(transaction, asking);
  return asking;
}

/**
 * Each statement gets the receivers as values: a distributed database sends rows that an insert reads from another part
 * to all of its nodes, and fails where one is down. An endpoint that subscribes after it was asked for gets no event.
 */
async function eventStatements(
  transaction: Sql,
  property: string | null,
  events: PendingEvent[],
): Promise<EffectStatements> {
  if (events.length === 0) return { statements: [], queued: [] };
  const endpoints = await endpointsOf(transaction, property);
  const heard = events
    .map(eventRow)
    .map((event) => ({ event, receivers: endpoints.filter((one) => one.events.some(isIn(event.wanted))) }))
    .filter(({ receivers }) => receivers.length > 0);
  if (heard.length === 0) return { statements: [], queued: [] };
  const stored = heard.map(({ event: { id, type, data } }) => ({ id, type, data }));
  // Of several events for one endpoint, the trace of the first.
  const owed = new Map<string, { event_ids: string[]; trace: string | null }>();
  for (const { event, receivers } of heard) {
    for (const { endpoint_id } of receivers) {
      const known = owed.get(endpoint_id);
      if (known) known.event_ids.push(event.id);
      else owed.set(endpoint_id, { event_ids: [event.id], trace: event.trace });
    }
  }
  const calls = [...owed].map(([endpoint_id, { trace }]) => ({ endpoint_id, trace }));
  const backlog = [...owed].map(([endpoint_id, { event_ids }]) => ({ endpoint_id, event_ids }));
  const endpointsCalled = sql`jsonb_to_recordset(${calls}::jsonb) as c(endpoint_id uuid, trace text)`;
  return {
    statements: [
      storedEvents(property, stored),
      waitingEvents(property, backlog),
      called(property, uncalled(endpointsCalled)),
    ],
    queued: calls.map(({ endpoint_id }) => ({ name: DELIVER_WEBHOOKS.name, mergeKey: endpoint_id })),
  };
}

function isIn(wanted: readonly string[]) {
  return (name: string) => wanted.includes(name);
}

function storedEvents(
  property: string | null,
  events: { id: string; type: string; data: object }[],
): Fragment {
  const rows = events.map((event) => ({ property_id: property, ...event }));
  const types = { property_id: "uuid", id: "uuid", type: "text", data: "jsonb" };
  return sql`insert into outbox ${insertedRows(types, rows)} returning 1`;
}

/** The job of an endpoint that has gone since it was asked for removes them. */
function waitingEvents(
  property: string | null,
  backlog: { endpoint_id: string; event_ids: string[] }[],
): Fragment {
  return sql`
    insert into webhook_backlog (property_id, id, endpoint_id, event_ids)
    select ${property}::uuid, uuid_v7_of(event_ids[1]), endpoint_id, event_ids
    from jsonb_to_recordset(${backlog}::jsonb) as b(endpoint_id uuid, event_ids uuid[])
    returning 1`;
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
  const part = sql`
    select array_agg(id order by id) as event_ids
    from (select id, (row_number() over (order by id) - 1) / ${PART} as number from event) numbered
    group by number`;
  const waiting = sql`
    insert into webhook_backlog (property_id, id, endpoint_id, event_ids)
    select ${property}::uuid, uuid_v7_of(event_ids[1]), endpoint_id, event_ids from part, receiver
    returning 1`;
  const endpoints = sql`(
    select endpoint_id, ${traceparent()}::text as trace from receiver where exists (select from event)) r`;
  const [written] = await transaction<{ jobs: number }[]>`
    with ${cte("receiver", receiver, "materialized")}, ${cte("event", event)}, ${cte("stored", stored)},
      ${cte("part", part)}, ${cte("waiting", waiting)}, ${cte("called", called(property, endpoints))}
    select count(*)::int as jobs from called`;
  return written!.jobs;
}

/** The entries of an endpoint's `events` that match `type`. */
export function subscriptionsFor(type: EventName): string[] {
  return [type, `${type.split(".")[0]}.*`, "*"];
}
