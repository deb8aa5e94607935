import type { Database, Sql } from "#db/database.ts";

type System = Pick<Database, "asSystem">;

/** SQLSTATE of `hold_lease`: another worker has the job. */
export const LEASE_LOST = "QL001";

/** One claim of one job. Each claim has a lease of its own. */
export interface Lease {
  id: string;
  lease: string;
}

/** Removes finished jobs, in one statement. A lost lease removes nothing. */
export async function complete(db: System, leases: readonly Lease[]): Promise<void> {
  await db.asSystem(
    (sql) => sql`
      delete from queue using unnest(${ids(leases)}::uuid[], ${tokens(leases)}::uuid[]) as done(id, lease)
      where queue.id = done.id and queue.lease = done.lease`,
  );
}

/** Interruptions that do not count as attempts. After more of them the job itself is the suspect. */
const UNCOUNTED = 20;

/**
 * Puts a failed job back. Its delay doubles from 1 s up to 1 h, and chance shortens it down to a half. The last
 * attempt leaves the job dead, without its data about persons. An interruption by the database does not count as an
 * attempt.
 */
export async function fail(
  db: System,
  { id, lease }: Lease,
  { error, interrupted }: { error: string; interrupted: boolean },
): Promise<"ready" | "dead" | "lost"> {
  const [row] = await db.asSystem(
    (sql) => sql<{ state: "ready" | "dead" }[]>`
      update queue
      set state = case when not uncounted and attempts >= max_attempts then 'dead' else 'ready' end,
        attempts = attempts - uncounted::int,
        interruptions = interruptions + ${interrupted}::boolean::int,
        run_at = now() + make_interval(secs =>
          least(3600, 2 ^ least(12, case when uncounted then least(interruptions, 6) else attempts - 1 end))
            * (0.5 + random() / 2)),
        input = case when not uncounted and attempts >= max_attempts then impersonal(input) else input end,
        is_impersonal = is_impersonal or not uncounted and attempts >= max_attempts and impersonal(input) <> input,
        lease = null, leased_until = null, last_error = ${error}
      from (
        select id as job, ${interrupted}::boolean and interruptions < ${UNCOUNTED}::int as uncounted
        from queue where id = ${id}) as ended
      where id = ended.job and lease = ${lease}
      returning state`,
  );
  return row?.state ?? "lost";
}

/** Prolongs the leases, and answers the valid ones. */
export async function heartbeat(db: System, leases: readonly Lease[], leaseMs: number): Promise<Set<string>> {
  const standing = await db.asSystem(async (sql) => {
    // Skips locked rows: a heartbeat and a completion must not wait for each other.
    const [, rows] = await Promise.all([
      sql`
        with held as (
          select queue.id from queue
          join unnest(${ids(leases)}::uuid[], ${tokens(leases)}::uuid[]) as h(id, lease)
            on queue.id = h.id and queue.lease = h.lease
          for no key update of queue skip locked
        )
        update queue set leased_until = now() + make_interval(secs => ${leaseMs / 1000}::float8)
        from held where queue.id = held.id`,
      sql<Lease[]>`
        select queue.id, queue.lease from queue
        join unnest(${ids(leases)}::uuid[], ${tokens(leases)}::uuid[]) as h(id, lease)
          on queue.id = h.id and queue.lease = h.lease`,
    ]);
    return rows;
  });
  return new Set(standing.map(leaseKey));
}

/** Gives unfinished jobs back, as if they had not been claimed. */
export async function release(db: System, leases: readonly Lease[]): Promise<void> {
  await db.asSystem(
    (sql) => sql`
      ${givingBack(sql)}
      from unnest(${ids(leases)}::uuid[], ${tokens(leases)}::uuid[]) as back(id, lease)
      where queue.id = back.id and queue.lease = back.lease`,
  );
}

/** Gives back the jobs of claims whose answer was lost with the connection. */
export async function releaseClaims(db: System, claims: readonly string[]): Promise<void> {
  await db.asSystem(
    (sql) => sql`
      ${givingBack(sql)}
      where state = 'running' and lease = any(${claims as string[]}::uuid[])`,
  );
}

const givingBack = (sql: Sql) => sql`
  update queue set state = 'ready', attempts = attempts - 1, lease = null, leased_until = null`;

/** The opening statement of a transaction that commits only under the lease. */
export function fence({ id, lease }: Lease): string[] {
  return [`select hold_lease('${id}', '${lease}')`];
}

/** Identifies one claim of a job. */
export function leaseKey({ id, lease }: Lease): string {
  return `${id}/${lease}`;
}

const ids = (leases: readonly Lease[]) => leases.map((one) => one.id);
const tokens = (leases: readonly Lease[]) => leases.map((one) => one.lease);
