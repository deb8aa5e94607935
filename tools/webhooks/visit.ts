import { type Fragment, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { unseal } from "#runtime/secrets/sealing.ts";
import type { AttemptOutcome, Delivery, Receiver } from "./attempt.ts";
import { enqueueDelivery, lockDeliveries, secretPlace, switchOff } from "./endpoint.ts";

export interface Endpoint extends Receiver {
  is_active: boolean;
  /** Seconds since the first failure after the last success; null without a failure. */
  failing_for: number | null;
  resting: boolean;
  /** Another job has the lease. */
  leased_by_other: boolean;
  /** This job's lease is long enough for another batch. */
  has_lease: boolean;
  /** The database's clock, in milliseconds since 1970. */
  clock: number;
}

export interface Visit {
  endpointId: string;
  jobId: string;
  /** Outcomes since the last visit. */
  outcomes: readonly AttemptOutcome[];
  /** Ids of the deliveries that this job has claimed and not recorded: they are not claimed again. */
  inFlight: readonly string[];
  /** Ids of the events that this job has claimed, and whose requests have not begun. */
  unsent: readonly string[];
  /** The receiver as a whole does not answer. */
  hangs: boolean;
  /** Leave due deliveries to another job. */
  handOver: boolean;
}

export interface DeliveryBatch {
  endpoint: Endpoint;
  deliveries: Delivery[];
  /** Ids of unsent events that an erasure has taken since they were claimed. */
  erased: string[];
  /** False: this job starts no further request. */
  isOpen: boolean;
}

/** The most deliveries that a visit claims. A crash repeats those that were sent and not recorded. */
export const BATCH = 512;
const LEASE_SECONDS = 100;
// The next visit may wait 60 s for its transaction. A request that starts before its end lasts at most 15 s.
const NEEDED_SECONDS = 80;
/** A visit takes rows of the backlog until they have so many events. */
const UNPACK = 1_000;
/** The most deliveries that a visit discards or removes. */
const DISCARD = 5_000;
const SWITCH_OFF_AFTER = 5 * 86_400;
const REST = { least: 5, most: 300, share: 0.25 };

/**
 * One transaction under the endpoint's lock: records outcomes, unpacks the backlog, and claims the next batch. Answers
 * null when this job has nothing to do and no request is open, and then ends the lease. Every other job waits for the
 * same lock. So this visit sees the events of jobs that left because of the lease.
 */
export async function visit(context: Context, visiting: Visit): Promise<DeliveryBatch | null> {
  // All in one round trip: waits for each would take longer than the requests of a batch.
  const [endpoint, , unpacked, claimed, erased] = await Promise.all([
    lock(context, visiting),
    record(context, visiting),
    unpack(context, visiting),
    claim(context, visiting),
    erasedOf(context, visiting),
  ]);
  if (!endpoint) return await remove(context, visiting, unpacked);
  if (visiting.outcomes.length > 0) await recordHealth(context, visiting, endpoint);
  const isOpen = endpoint.is_active && !endpoint.leased_by_other && !visiting.handOver;
  const due = await withEvents(context, claimed);
  const deliveries = isOpen && !endpoint.resting ? due : [];
  if (deliveries.length > 0 && !endpoint.has_lease) await takeLease(context, visiting);
  if (deliveries.length > 0 || visiting.inFlight.length > 0) return { endpoint, deliveries, erased, isOpen };
  if (endpoint.leased_by_other) return null;
  if (!endpoint.is_active) return await discard(context, visiting, unpacked);
  const goesOn = unpacked > 0 || !isOpen;
  return await endLease(context, visiting, goesOn ? "now" : await nextDue(context, visiting));
}

async function lock(context: Context, { endpointId, jobId }: Visit): Promise<Endpoint | undefined> {
  const { sql, property, config } = context;
  const [endpoint] = await sql<Endpoint[]>`
    with clock as materialized (select clock_timestamp() as now)
    select url, secret, include_pii, is_active,
      case when previous_secret_until > clock.now then previous_secret end as previous_secret,
      extract(epoch from clock.now - failing_since)::double precision as failing_for,
      coalesce(resting_until > clock.now, false) as resting,
      coalesce(delivering_by <> ${jobId} and delivering_until > clock.now, false) as leased_by_other,
      coalesce(delivering_by = ${jobId} and delivering_until > clock.now + make_interval(secs => ${NEEDED_SECONDS}),
        false) as has_lease,
      extract(epoch from clock.now)::double precision * 1000 as clock
    from webhook_endpoints, clock
    where property_id = ${property.id} and id = ${endpointId}
    for update of webhook_endpoints`;
  if (!endpoint) return undefined;
  const open = (secret: string) => unseal(config, secretPlace(property.id, endpointId), secret);
  const { secret, previous_secret: previous } = endpoint;
  return { ...endpoint, secret: open(secret), previous_secret: previous && open(previous) };
}

async function record(context: Context, { outcomes }: Visit): Promise<void> {
  if (outcomes.length === 0) return;
  const { sql, property } = context;
  const rows = outcomes.map(({ id, status, delay, attempt }) => ({ id, status, delay, attempt }));
  const locking = lockDeliveries(
    context,
    rows.map(({ id }) => id),
  );
  const recording = sql`
    with results as materialized (
      select id, status, attempt, statement_timestamp() + make_interval(secs => delay) as next_attempt_at
      from jsonb_to_recordset(${rows}::jsonb) as r(id uuid, status text, delay double precision, attempt jsonb)
    )
    update webhook_deliveries d set
      attempts = case when jsonb_array_length(d.attempts) >= 50 then d.attempts - 0 else d.attempts end || r.attempt,
      attempt_count = d.attempt_count + 1,
      status = r.status,
      next_attempt_at = r.next_attempt_at,
      updated_at = now()
    from results r
    where d.property_id = ${property.id} and d.id = r.id and d.status = 'pending'`;
  await Promise.all([locking, recording]);
}

async function recordHealth(context: Context, visiting: Visit, endpoint: Endpoint): Promise<void> {
  const { sql, property } = context;
  const { endpointId, outcomes } = visiting;
  const well = outcomes.some(({ status }) => status === "delivered");
  const reason = endpoint.is_active ? reasonToSwitchOff(outcomes, well, endpoint) : null;
  if (reason !== null) {
    await switchOff(context, endpointId, reason);
    endpoint.is_active = false;
  }
  const rest = restFor(visiting, endpoint);
  if (rest === 0 && well === (endpoint.failing_for === null)) return;
  endpoint.resting ||= rest > 0;
  endpoint.failing_for = well ? null : (endpoint.failing_for ?? 0);
  await sql`
    with clock as materialized (
      select now() as moment, statement_timestamp() + make_interval(secs => ${rest}) as rest_ends
    )
    update webhook_endpoints set
      failing_since = ${well ? null : sql`coalesce(failing_since, clock.moment)`},
      resting_until = ${rest > 0 ? sql`clock.rest_ends` : sql`resting_until`}
    from clock
    where property_id = ${property.id} and id = ${endpointId}`;
}

function reasonToSwitchOff(
  outcomes: readonly AttemptOutcome[],
  well: boolean,
  { failing_for }: Endpoint,
): string | null {
  if (outcomes.some(({ receiver }) => receiver.gone)) return "The receiver answered 410 Gone.";
  if (well || (failing_for ?? 0) < SWITCH_OFF_AFTER) return null;
  return `No delivery has succeeded for 5 days. The last error: ${outcomes.at(-1)?.attempt.error}`;
}

/** Seconds without any attempt: by the receiver's request, or a share of the time since it began to hang. */
function restFor({ outcomes, hangs }: Visit, { failing_for }: Endpoint): number {
  const requested = Math.max(...outcomes.map(({ receiver }) => receiver.retryAfter));
  if (!hangs) return requested;
  return Math.max(requested, Math.min(Math.max((failing_for ?? 0) * REST.share, REST.least), REST.most));
}

/** Makes the deliveries of events that wait in the backlog, oldest first. Answers how many of its rows it took. */
async function unpack({ sql, property }: Context, { endpointId }: Visit): Promise<number> {
  const [taken] = await sql<{ count: number }[]>`
    with waiting as (
      select id, sum(cardinality(event_ids)) over (order by id) - cardinality(event_ids) as events_before
      from webhook_backlog where property_id = ${property.id} and endpoint_id = ${endpointId}
      order by id limit ${UNPACK}
    ), taken as (
      delete from webhook_backlog b using waiting w
      where b.property_id = ${property.id} and b.id = w.id and w.events_before < ${UNPACK}
      returning b.event_ids, b.created_at
    ), made as (
      insert into webhook_deliveries
        (property_id, id, event_id, event_type, endpoint_id, next_attempt_at, created_at)
      select ${property.id}::uuid, uuid_v7_of(e.id), e.id, e.type, ${endpointId}::uuid, taken.created_at, taken.created_at
      from taken cross join lateral unnest(taken.event_ids) as w(event_id) cross join lateral (
        select id, type from outbox where property_id = ${property.id} and id = w.event_id limit 1) e
      returning 1
    )
    select count(*)::int as count from taken`;
  return taken!.count;
}

/** A delivery whose event may be gone: an erasure takes both, but does not see deliveries that a visit just makes. */
type Claimed = Omit<Delivery, "data"> & { data: Delivery["data"] | null };

// Lateral: as a plain join, it once compared each due delivery with every event of the property.
function claim({ sql, property }: Context, { endpointId, inFlight }: Visit): Promise<Claimed[]> {
  return sql<Claimed[]>`
    with due as materialized (
      select id, event_id, event_type, attempt_count, next_attempt_at
      from webhook_deliveries
      where property_id = ${property.id} and endpoint_id = ${endpointId} and status = 'pending'
        and next_attempt_at <= statement_timestamp()
        and id not in (select unnest(${inFlight as string[]}::uuid[]))
      order by next_attempt_at, id limit ${BATCH}
    )
    select due.id, due.event_id, due.event_type as type, due.attempt_count, e.occurred_at, e.data
    from due left join lateral (
      select occurred_at, data from outbox where property_id = ${property.id} and id = due.event_id limit 1) e on true
    order by due.next_attempt_at, due.id`;
}

async function erasedOf({ sql, property }: Context, { unsent }: Visit): Promise<string[]> {
  if (unsent.length === 0) return [];
  const rows = await sql<{ id: string }[]>`
    select u.id from unnest(${unsent as string[]}::uuid[]) as u(id) left join lateral (
      select id from outbox where property_id = ${property.id} and id = u.id limit 1) e on true
    where e.id is null`;
  return rows.map(({ id }) => id);
}

/** Deletes the deliveries without an event; answers the others. */
async function withEvents(context: Context, claimed: readonly Claimed[]): Promise<Delivery[]> {
  const [kept, orphans]: [Delivery[], string[]] = [[], []];
  for (const { data, ...delivery } of claimed) {
    if (data === null) orphans.push(delivery.id);
    else kept.push({ ...delivery, data });
  }
  await deleteDeliveries(context, orphans);
  return kept;
}

async function deleteDeliveries(context: Context, ids: string[]): Promise<void> {
  if (ids.length === 0) return;
  const { sql, property } = context;
  await lockDeliveries(context, ids);
  await sql`delete from webhook_deliveries where property_id = ${property.id} and id = any(${ids}::uuid[])`;
}

async function takeLease({ sql, property }: Context, { endpointId, jobId }: Visit): Promise<void> {
  await sql`
    update webhook_endpoints set delivering_by = ${jobId},
      delivering_until = statement_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    where property_id = ${property.id} and id = ${endpointId}`;
}

/** Ends the lease. `wakeAt`: the start of the next job, or null when nothing is pending. */
async function endLease(
  context: Context,
  { endpointId, jobId }: Visit,
  wakeAt: string | null,
): Promise<null> {
  const { sql, property, enqueue } = context;
  if (wakeAt === "now") enqueueDelivery(enqueue, endpointId);
  else if (wakeAt !== null) enqueueDelivery(enqueue, endpointId, { runAt: wakeAt, dedupe: endpointId });
  await sql`
    update webhook_endpoints set delivering_by = null, delivering_until = null
    where property_id = ${property.id} and id = ${endpointId} and delivering_by = ${jobId}`;
  return null;
}

async function nextDue({ sql, property }: Context, { endpointId }: Visit): Promise<string | null> {
  const [next] = await sql<{ at: string }[]>`
    select greatest(d.next_attempt_at, w.resting_until) as at
    from webhook_deliveries d join webhook_endpoints w on w.property_id = ${property.id} and w.id = d.endpoint_id
    where d.property_id = ${property.id} and d.endpoint_id = ${endpointId} and d.status = 'pending'
    order by d.next_attempt_at limit 1`;
  return next?.at ?? null;
}

/** Removes what a deleted endpoint has left. */
async function remove(context: Context, visiting: Visit, unpacked: number): Promise<null> {
  const left = await someDeliveries(context, visiting, sql``);
  await deleteDeliveries(context, left);
  return await endLease(context, visiting, unpacked > 0 || left.length === DISCARD ? "now" : null);
}

async function discard(context: Context, visiting: Visit, unpacked: number): Promise<null> {
  const pending = await someDeliveries(context, visiting, sql`and status = 'pending'`);
  if (pending.length > 0) {
    await lockDeliveries(context, pending);
    await context.sql`
      update webhook_deliveries set status = 'discarded', next_attempt_at = null, updated_at = now()
      where property_id = ${context.property.id} and id = any(${pending}::uuid[])`;
  }
  return await endLease(context, visiting, unpacked > 0 || pending.length === DISCARD ? "now" : null);
}

async function someDeliveries(
  context: Context,
  { endpointId }: Visit,
  condition: Fragment,
): Promise<string[]> {
  const { property } = context;
  const rows = await context.sql<{ id: string }[]>`
    select id from webhook_deliveries
    where property_id = ${property.id} and endpoint_id = ${endpointId} ${condition} limit ${DISCARD}`;
  return rows.map(({ id }) => id);
}
