import { setTimeout } from "node:timers/promises";
import type { Database, Sql } from "#db/database.ts";
import type { Log } from "#runtime/log.ts";
import type { EnqueueOptions, JobReference } from "#runtime/operation/context.ts";
import { traceparent } from "#runtime/telemetry/activity.ts";
import type { Lease } from "./leases.ts";

type System = Pick<Database, "asSystem">;

/** The channel on which a process notifies the others of new jobs that it cannot run. */
export const QUEUE_CHANNEL = "queue";

export interface Claimed extends Lease {
  name: string;
  property_id: string | null;
  /** The unit of fair scheduling: the property, or the platform. */
  tenant: string;
  input: unknown;
  attempts: number;
  max_attempts: number;
  trace: string | null;
  merge_key: string | null;
}

export interface ClaimOptions {
  /** The jobs that this process knows; other processes run the rest. */
  names: readonly string[];
  /** Those of them that wait while sending is held. */
  sending: readonly string[];
  limit: number;
  /** A new token that all jobs of this claim share. */
  lease: string;
  leaseMs: number;
  /** The most jobs that one tenant may have here, and the number that each has already. */
  cap: number;
  held: ReadonlyMap<string, number>;
}

/**
 * Takes due jobs in one statement. The tenant with the fewest jobs here comes first, and each gets its fair share,
 * oldest first. One index descent finds each waiting tenant, however long the others' queues are. Of the jobs with one
 * merge key only one is taken, and none while one runs: it serves all that are committed now, so the others go.
 */
export async function claim(
  db: System,
  { names, sending, limit, lease, leaseMs, cap, held }: ClaimOptions,
): Promise<Claimed[]> {
  const rows = await db.asSystem(
    (sql) => sql<Omit<Claimed, "lease">[]>`
      with recursive ${waitingTenants(sql)}, due as materialized (
        select waiting.tenant, ${cap}::int - coalesce(has.jobs, 0) as room
        from waiting left join unnest(${[...held.keys()]}::uuid[], ${[...held.values()]}::int[]) as has(tenant, jobs)
          using (tenant)
        where waiting.run_at <= now() and coalesce(has.jobs, 0) < ${cap}::int
        order by coalesce(has.jobs, 0), waiting.run_at
      ), picked as materialized (
        select job.id, job.name, job.merge_key
        from due cross join lateral (
          select id, name, merge_key from queue waiting
          where state = 'ready' and tenant = due.tenant and run_at <= now() and ${runnable(sql, { names, sending })}
            and (merge_key is null or not exists (
              select from queue other
              where other.merge_key = waiting.merge_key and other.name = waiting.name and other.state = 'running'))
          order by run_at, id
          limit least(due.room, ceil(${limit}::float8 / (select count(*) from due)))
          for update of waiting skip locked) as job
        limit ${limit}::int
      ), merging as materialized (
        select min(id::text)::uuid as id, name, merge_key from picked
        where merge_key is not null group by name, merge_key
      ), merged as (
        delete from queue where id in (
          select waiting.id from merging join queue waiting using (name, merge_key)
          where waiting.state = 'ready' and waiting.run_at <= now() and waiting.id <> merging.id
          for update of waiting skip locked)
      ), taken as (
        update queue
        set state = 'running', attempts = attempts + 1, lease = ${lease}, dedupe = null,
          leased_until = now() + make_interval(secs => ${leaseMs / 1000}::float8)
        from picked
        where queue.id = picked.id and (picked.merge_key is null or picked.id in (select id from merging))
        returning queue.id, queue.name, property_id, tenant, input, attempts, max_attempts, queue.merge_key, trace, run_at
      )
      select id, name, property_id, tenant, input, attempts, max_attempts, merge_key, trace from taken order by run_at, id`,
    INDEXED,
  );
  return rows.map((row) => ({ ...row, lease }));
}

/** Whether this process may run a job now: sending is open where the database is the one that it was released for. */
const runnable = (sql: Sql, { names, sending }: Pick<ClaimOptions, "names" | "sending">) => sql`
  name = any(${names as string[]}::text[])
    and (name <> all(${sending as string[]}::text[]) or (select sending_is_open()))`;

/** Each waiting tenant with its oldest job: one index descent per tenant, however long the queues are. */
const waitingTenants = (sql: Sql) => sql`waiting as (
  (select tenant, run_at from queue where state = 'ready' order by tenant, run_at limit 1)
  union all
  select following.tenant, following.run_at
  from waiting cross join lateral (
    select tenant, run_at from queue
    where state = 'ready' and tenant > waiting.tenant order by tenant, run_at limit 1) as following)`;

// PostgreSQL keeps a plan that it made for the empty table, and would later scan and sort the whole table.
const INDEXED = {
  before: ["set local enable_seqscan = off", "set local enable_bitmapscan = off", "set local jit = off"],
};

/** Milliseconds until the next delayed job, by the database's clock; null when there is none. */
export async function untilNext(db: System): Promise<number | null> {
  const [row] = await db.asSystem(
    (sql) => sql<{ wait: number | null }[]>`
      with recursive ${waitingTenants(sql)}
      select extract(epoch from min(run_at) - clock_timestamp())::float8 * 1000 as wait
      from waiting where run_at > now()`,
    INDEXED,
  );
  return row?.wait ?? null;
}

/**
 * Takes back the jobs of lost workers: those with expired leases, or all where the caller knows that no worker is
 * left. The attempt counts, because the job may have killed the worker.
 */
export async function reap(db: System, { all = false } = {}): Promise<number> {
  const rows = await db.asSystem(
    (sql) => sql`
      update queue
      set state = case when attempts >= max_attempts then 'dead' else 'ready' end,
        run_at = case when attempts >= max_attempts then now() else run_at end,
        input = case when attempts >= max_attempts then impersonal(input) else input end,
        is_impersonal = is_impersonal or attempts >= max_attempts and impersonal(input) <> input,
        lease = null, leased_until = null, last_error = 'lost worker'
      where id in (
        select id from queue
        where state = 'running' and leased_until < case when ${all}::boolean then 'infinity' else now() end
        order by leased_until limit ${all ? null : 1000} for update skip locked)
      returning id`,
  );
  return rows.length;
}

/** The number of jobs of these names that may run now or are running, in any process. */
export async function pending(db: System, known: Pick<ClaimOptions, "names" | "sending">): Promise<number> {
  const [row] = await db.asSystem(
    (sql) => sql<{ jobs: number }[]>`
      select count(*)::int as jobs from queue
      where ${runnable(sql, known)}
        and (state = 'running' or (state = 'ready' and run_at <= now()))`,
  );
  return row!.jobs;
}

/** Puts a job on the queue from outside an operation, in the transaction of `sql`, and wakes every worker. */
export async function enqueue<Input>(
  sql: Sql,
  job: JobReference<Input>,
  input: Input,
  options: EnqueueOptions & { propertyId?: string } = {},
): Promise<void> {
  const delay = typeof options.runAt === "number" ? options.runAt : 0;
  const runAt = typeof options.runAt === "string" ? options.runAt : null;
  await sql`
    with queued as (
      insert into queue (id, name, property_id, input, dedupe, merge_key, max_attempts, trace, run_at)
      values (uuid_v7(), ${job.name}, ${options.propertyId ?? null}, ${job.input.parse(input)},
        ${options.dedupe ?? null}, ${options.mergeKey ?? null}, ${job.attempts}, ${traceparent()},
        coalesce(${runAt}::timestamptz, now() + make_interval(secs => ${delay}::float8)))
      on conflict (name, dedupe) where state = 'ready' and dedupe is not null
        do update set run_at = least(queue.run_at, excluded.run_at)
      returning 1
    )
    select pg_notify(${QUEUE_CHANNEL}, '') from queued`;
}

/** Milliseconds between two notifications: each is a transaction, and wakes every process. */
const NOTIFY_EVERY = 20;

/** Notifies the workers of all processes that there are jobs. */
export interface QueueNotifier {
  /** Notifies at once the first time, then with one notification at a time, however often it is called. */
  notify(): void;
  /** Resolves when no notification is left. */
  ended(): Promise<void>;
}

export function queueNotifier(db: System, log: Log): QueueNotifier {
  let wanted = false;
  let sending: Promise<void> | null = null;
  const send = async () => {
    while (wanted) {
      wanted = false;
      await db.asSystem((sql) => sql`select pg_notify(${QUEUE_CHANNEL}, '')`);
      await setTimeout(NOTIFY_EVERY);
    }
  };
  return {
    notify: () => {
      wanted = true;
      sending ??= send()
        .catch((error: unknown) =>
          log.debug(
            { err: error },
            "other processes were not notified of new jobs; they find them by polling",
          ),
        )
        .finally(() => {
          sending = null;
        });
    },
    ended: async () => {
      await sending;
    },
  };
}
