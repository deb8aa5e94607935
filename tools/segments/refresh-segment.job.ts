import { z } from "zod";
import type { Sql } from "#db/client.ts";
import type { Context } from "#runtime/context.ts";
import { subscriptionsFor } from "#runtime/events.ts";
import { Fault } from "#runtime/faults.ts";
import { type JobContext, job } from "#runtime/operation.ts";
import { emitMany } from "#runtime/outbox.ts";
import { audienceOf } from "./conditions-segments.ts";

/** Seconds between two countings of a segment, at the least; and of one whose comings and goings are told. */
const EVERY = 900;
const EVERY_TOLD = 60;
// A segment of a million rows takes half a second, and all that a property has no more than a part of the time.
const SHARE = 200;
/** Members that one transaction takes in or lets go. */
const BATCH = 10_000;

interface Segment {
  type: "static" | "dynamic";
  version: number;
  /** Members are kept, and were the last time. */
  kept: boolean;
  told: boolean;
}

/** Counts a segment's players into its record, tells who has entered and exited it, and comes again. */
const refreshSegment = job({
  name: "refresh_segment",
  attempts: 5,
  input: z.object({ segmentId: z.uuid() }),
  async handler(job, { segmentId }) {
    const startedAt = performance.now();
    await job.transact(({ sql }) => sql`select analyze_members()`);
    const segment = await job.transact((context) => begin(context, segmentId));
    if (!segment) return;
    try {
      if (segment.type === "dynamic" && segment.told) await keepMembers(job, segmentId, segment.kept);
      await job.transact((context) => count(context, segmentId, segment.version));
    } catch (error) {
      // What it refers to is gone, or its rules are none any more: that is the segment's state, and no job's failure.
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      await job.transact((context) => end(context, segmentId, segment.version, null));
    }
    const took = (performance.now() - startedAt) / 1000;
    const runAt = Math.max(segment.told ? EVERY_TOLD : EVERY, took * SHARE);
    await job.transact(async ({ enqueue }) =>
      enqueue(refreshSegment, { segmentId }, { dedupe: segmentId, runAt }),
    );
  },
});
export default refreshSegment;

/** The segment, or null when it is gone. What is kept for nobody is let go. */
async function begin({ sql, property }: Context, id: string): Promise<Segment | null> {
  const told = [...subscriptionsFor("player.segment_entered"), "player.segment_exited"];
  const [segment] = await sql<Segment[]>`
    select type, version, members_since is not null as kept, exists (
      select from webhook_endpoints w
      where w.property_id = ${property.id} and w.is_active and w.events && ${told}::text[]) as told
    from segments where property_id = ${property.id} and id = ${id} and deleted_at is null for no key update`;
  if (!segment) return null;
  if (segment.kept && !(segment.told && segment.type === "dynamic")) {
    await forgetMembers(sql, property.id, id);
  }
  return segment;
}

/** Lets go of the members that the rules have brought in. */
export async function forgetMembers(sql: Sql, propertyId: string, id: string): Promise<void> {
  await sql`
    delete from segment_members where property_id = ${propertyId} and segment_id = ${id} and source = 'rule'`;
  await sql`update segments set members_since = null where property_id = ${propertyId} and id = ${id}`;
}

/** The members' rows become those whom the rules match now. Those of the first time have not entered: they were there. */
async function keepMembers(job: JobContext, id: string, tell: boolean): Promise<void> {
  for (const step of [letGo, takeIn]) {
    let changed = BATCH;
    while (changed === BATCH) {
      job.signal.throwIfAborted();
      changed = await job.transact((context) => step(context, id, tell));
    }
  }
  if (tell) return;
  await job.transact(
    ({ sql, property }) => sql`
      update segments set members_since = now() where property_id = ${property.id} and id = ${id}`,
  );
}

/** Whether it still has rules: a list that has become static takes nobody in by them. */
async function lockDynamic({ sql, property }: Context, id: string): Promise<boolean> {
  const [segment] = await sql<{ type: string }[]>`
    select type from segments where property_id = ${property.id} and id = ${id} for no key update`;
  return segment?.type === "dynamic";
}

async function takeIn(context: Context, id: string, tell: boolean): Promise<number> {
  const { sql, property } = context;
  if (!(await lockDynamic(context, id))) return 0;
  const { text, params } = await audienceOf(sql, property.id, id, 2);
  const entered = await sql.unsafe(
    `insert into segment_members (property_id, segment_id, player_id, source)
    select p.property_id, $2::uuid, p.id, 'rule' from players p
    where p.property_id = $1 and ${text} and not exists (
      select from segment_members m where m.property_id = $1 and m.segment_id = $2::uuid and m.player_id = p.id)
    limit ${BATCH} on conflict (property_id, segment_id, player_id) do nothing`,
    [property.id, id, ...params] as never[],
  );
  if (tell && entered.count > 0) {
    // now() is the transaction's, so these are the rows that it has added.
    await emitMany(
      sql,
      property.id,
      "player.segment_entered",
      sql`select to_jsonb(m) as object from segment_members m
        where m.property_id = ${property.id} and m.segment_id = ${id} and m.added_at = now()`,
    );
  }
  return entered.count;
}

async function letGo(context: Context, id: string, tell: boolean): Promise<number> {
  const { sql, property } = context;
  if (!(await lockDynamic(context, id))) return 0;
  const { text, params } = await audienceOf(sql, property.id, id, 2);
  const exited = await sql.unsafe<{ id: string }[]>(
    `select m.id from segment_members m join players p on p.property_id = $1 and p.id = m.player_id
    where m.property_id = $1 and m.segment_id = $2::uuid and m.source = 'rule' and (${text}) is not true
    limit ${BATCH} for update of m`,
    [property.id, id, ...params] as never[],
  );
  if (exited.length === 0) return 0;
  const gone = sql`select id from json_to_recordset(${exited as never}::json) as e(id uuid)`;
  if (tell) {
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
  const { text, params } = await audienceOf(sql, property.id, id, 1);
  const [row] = await sql.unsafe<{ count: number }[]>(
    `select count(*)::int as count from players p where p.property_id = $1 and ${text}`,
    [property.id, ...params] as never[],
  );
  await end(context, id, version, row!.count);
}

/** Null: it could not be counted. Rules that were changed meanwhile have a counting of their own to come. */
async function end({ sql, property }: Context, id: string, version: number, members: number | null) {
  await sql`
    update segments set state = case when ${members}::int is null then 'failed' else 'ready' end,
      member_count = coalesce(${members}::int, member_count),
      last_computed_at = case when ${members}::int is null then last_computed_at else now() end
    where property_id = ${property.id} and id = ${id} and version = ${version}`;
}
