import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { transactionStart } from "#db/transaction-start.ts";
import { Fault } from "#runtime/faults.ts";
import { emitMany, subscriptionsFor } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { enrollBySegment } from "#tools/enrollments/enroll.ts";
import { audienceOf } from "./rules/references.ts";

/** The least seconds between two counts of a segment, and of a segment whose entries and exits go to endpoints. */
const EVERY = 900;
const EVERY_NOTIFIED = 60;
// Counting a million rows takes half a second; all segments of a property together use at most this share of the time.
const SHARE = 200;
/** Members that one transaction adds or removes. */
const BATCH = 10_000;

interface Segment {
  type: "static" | "dynamic";
  version: number;
  /** The last count kept the members. */
  kept: boolean;
  /** An endpoint has subscribed to its entries and exits, or a journey begins with them. */
  notifies: boolean;
}

/** Counts a segment's players, emits its entries and exits, and enqueues itself again. */
const refreshSegment = job({
  name: "refresh_segment",
  attempts: 5,
  input: z.object({ segmentId: z.uuid() }),
  async handler(job, { segmentId }) {
    const startedAt = performance.now();
    await job.transact(
      ({ sql, property }) => sql`
        select analyze_members() from segments where property_id = ${property.id} and id = ${segmentId}`,
    );
    const segment = await job.transact((context) => begin(context, segmentId));
    if (!segment) return;
    try {
      if (segment.type === "dynamic" && segment.notifies) await updateMembers(job, segmentId, segment.kept);
      await job.transact((context) => count(context, segmentId, segment.version));
    } catch (error) {
      // A missing reference or an invalid rule makes the segment failed, not the job.
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      await job.transact((context) => end(context, segmentId, segment.version, null));
    }
    const took = (performance.now() - startedAt) / 1000;
    const runAt = Math.max(segment.notifies ? EVERY_NOTIFIED : EVERY, took * SHARE);
    await job.transact(async ({ enqueue }) =>
      enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt }),
    );
  },
});
export default refreshSegment;

/** The segment, or null when it is deleted. Deletes members whose entries and exits concern nobody any more. */
async function begin({ sql, property }: Context, id: string): Promise<Segment | null> {
  const types = [...subscriptionsFor("player.segment_entered"), "player.segment_exited"];
  const [segment] = await sql<Segment[]>`
    select type, version, members_since is not null as kept, exists (
      select from webhook_endpoints w
      where w.property_id = ${property.id} and w.is_active and w.events && ${types}::text[]
    ) or exists (
      select from journey_triggers t
      where t.property_id = ${property.id} and t.kind in ('segment_enter', 'segment_exit') and t.name = ${id}::text
    ) as notifies
    from segments where property_id = ${property.id} and id = ${id} and deleted_at is null for no key update`;
  if (!segment) return null;
  if (segment.kept && !(segment.notifies && segment.type === "dynamic")) {
    await forgetMembers(sql, property.id, id);
  }
  return segment;
}

/** Deletes the members that the rules have added. */
export async function forgetMembers(sql: Sql, propertyId: string, id: string): Promise<void> {
  await sql`
    delete from segment_members where property_id = ${propertyId} and segment_id = ${id} and source = 'rule'`;
  await sql`update segments set members_since = null where property_id = ${propertyId} and id = ${id}`;
}

/** Brings the members in line with the rules. The first time emits no entries, because these players were there. */
async function updateMembers(job: JobContext, id: string, emits: boolean): Promise<void> {
  for (const step of [removeMembers, addMembers]) {
    let changed = BATCH;
    while (changed === BATCH) {
      job.signal.throwIfAborted();
      changed = await job.transact((context) => step(context, id, emits));
    }
  }
  if (emits) return;
  await job.transact(
    ({ sql, property }) => sql`
      update segments set members_since = now() where property_id = ${property.id} and id = ${id}`,
  );
}

/**
 * Keeps the members of now in this transaction: a player who fits the rules later has entered. Where members are kept
 * already, those who came and left since the last refresh do so now, by the triggers that there are.
 */
export async function keepMembers(context: Context, id: string): Promise<void> {
  const { sql, property } = context;
  const [segment] = await sql<{ kept: boolean }[]>`
    select members_since is not null as kept from segments
    where property_id = ${property.id} and id = ${id} and type = 'dynamic' for no key update`;
  if (!segment) return;
  while ((await removeMembers(context, id, segment.kept)) === BATCH) {}
  await addMembers(context, id, segment.kept, null);
  if (segment.kept) return;
  await sql`update segments set members_since = now() where property_id = ${property.id} and id = ${id}`;
}

/** Locks the segment. False when it has become static or has no rules any more. */
async function lockDynamic({ sql, property }: Context, id: string): Promise<boolean> {
  const [segment] = await sql<{ type: string }[]>`
    select type from segments where property_id = ${property.id} and id = ${id} for no key update`;
  return segment?.type === "dynamic";
}

/** A transaction adds members once: it tells its own by their time. */
async function addMembers(
  context: Context,
  id: string,
  emits: boolean,
  most: number | null = BATCH,
): Promise<number> {
  const { sql, property } = context;
  if (!(await lockDynamic(context, id))) return 0;
  const audience = await audienceOf(sql, property.id, id);
  // The column's default would be the time of the rows' own node.
  const start = await transactionStart(sql);
  const entered = await sql`
    insert into segment_members (property_id, segment_id, player_id, source, added_at)
    select p.property_id, ${id}::uuid, p.id, 'rule', ${start}::timestamptz from players p
    where p.property_id = ${property.id} and ${audience} and not exists (
      select from segment_members m
      where m.property_id = ${property.id} and m.segment_id = ${id}::uuid and m.player_id = p.id)
    limit ${most}::int on conflict (property_id, segment_id, player_id) do nothing`;
  if (emits && entered.count > 0) {
    await enrollBySegment(
      context,
      { kind: "segment_enter", segmentId: id },
      sql`select m.player_id from segment_members m
        where m.property_id = ${property.id}::uuid and m.segment_id = ${id}::uuid and m.added_at = ${start}::timestamptz`,
    );
    await emitMany(
      sql,
      property.id,
      "player.segment_entered",
      sql`select to_jsonb(m) as object from segment_members m
        where m.property_id = ${property.id} and m.segment_id = ${id} and m.added_at = ${start}::timestamptz`,
    );
  }
  return entered.count;
}

async function removeMembers(context: Context, id: string, emits: boolean): Promise<number> {
  const { sql, property } = context;
  if (!(await lockDynamic(context, id))) return 0;
  const audience = await audienceOf(sql, property.id, id);
  const exited = await sql<{ id: string }[]>`
    select m.id from segment_members m join players p on p.property_id = ${property.id} and p.id = m.player_id
    where m.property_id = ${property.id} and m.segment_id = ${id}::uuid and m.source = 'rule'
      and (${audience}) is not true
    limit ${BATCH} for update of m`;
  if (exited.length === 0) return 0;
  const gone = sql`select id from json_to_recordset(${exited}::json) as e(id uuid)`;
  if (emits) {
    await enrollBySegment(
      context,
      { kind: "segment_exit", segmentId: id },
      sql`select m.player_id from segment_members m where m.property_id = ${property.id}::uuid and m.id in (${gone})`,
    );
    await emitMany(
      sql,
      property.id,
      "player.segment_exited",
      sql`select to_jsonb(m) as object from segment_members m
        where m.property_id = ${property.id} and m.id in (${gone})`,
    );
  }
  await sql`delete from segment_members where property_id = ${property.id} and id in (${gone})`;
  return exited.length;
}

async function count(context: Context, id: string, version: number): Promise<void> {
  const { sql, property } = context;
  const audience = await audienceOf(sql, property.id, id);
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from players p where p.property_id = ${property.id} and ${audience}`;
  await end(context, id, version, row!.count);
}

/** Null: the count failed. Rules that changed meanwhile get their own count. */
async function end({ sql, property }: Context, id: string, version: number, members: number | null) {
  await sql`
    with clock as materialized (select now() as moment)
    update segments set state = case when ${members}::int is null then 'failed' else 'ready' end,
      member_count = coalesce(${members}::int, member_count),
      last_computed_at = case when ${members}::int is null then last_computed_at else moment end
    from clock
    where property_id = ${property.id} and id = ${id} and version = ${version}`;
}
