import type { z } from "zod";
import { adHoc, cast, sql } from "#db/sql.ts";
import { NIL_UUID } from "#db/types.ts";
import { toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { enroll } from "#tools/enrollments/enroll.ts";
import type { Referred } from "#tools/segments/rules/references.ts";
import type { Definition, NodeOf } from "./definition/definition.ts";
import { findJourney, type Journey } from "./journey/journey.ts";
import { ENTER_JOURNEY, enterLater } from "./publishing/entering.ts";
import { fitting } from "./publishing/fitting.ts";

/** Players of one transaction. */
const CHUNK = 10_000;

type Input = z.output<typeof ENTER_JOURNEY.input>;

/** Enrolls all players who fit a trigger at its time, in pages by their ids. Each page enqueues the next one. */
export default job({
  ...ENTER_JOURNEY,
  sends: true,
  handler: (job, input) => job.transact((context) => enterPage(context, input)),
});

async function enterPage(context: Context, input: Input): Promise<void> {
  const { journeyId, node: nodeId, version, after = NIL_UUID } = input;
  const journey = await findJourney(context, journeyId, { lock: "share" }).catch(nullIfDeleted);
  if (!journey || journey.status === "archived" || journey.current_version !== version) return;
  const found = await triggerOf(context, journey, nodeId);
  if (!found || found.isOver) return;
  // A time at which the journey was paused passes without anybody.
  if (journey.status === "active") {
    const last = await enrollPage(context, journey, { ...found, after, at: input.at });
    if (last) return context.enqueue(ENTER_JOURNEY, { ...input, after: last });
  }
  if (!input.backfill) enterLater(context, journeyId, { version, node: found.node, last: input.at });
}

function nullIfDeleted(error: unknown): null {
  if (toFault(error).code === "not_found") return null;
  throw error;
}

interface Found {
  node: NodeOf<"trigger">;
  referred: Referred;
  reentry: object;
  /** ISO time of the version. */
  since: string;
  /** The journey has come to its end. */
  isOver: boolean;
}

async function triggerOf(
  { sql: transaction, property }: Context,
  { id, current_version }: Journey,
  nodeId: string,
): Promise<Found | null> {
  const [version] = await transaction<(Omit<Found, "node"> & { definition: Definition })[]>`
    select definition, referred, reentry, to_json(created_at) #>> '{}' as since, coalesce(ends_at <= now(), false) as "isOver" from journey_versions
    where property_id = ${property.id} and journey_id = ${id} and version = ${current_version}`;
  if (!version) return null;
  const { definition, ...own } = version;
  const node = definition.nodes.find((one) => one.id === nodeId);
  return node?.type === "trigger" ? { node, ...own } : null;
}

/** Enrolls the next page. Answers its last player; null behind the last page. */
async function enrollPage(
  context: Context,
  { id, current_version }: Journey,
  { node, referred, reentry, since, after, at }: Found & { after: string; at: string | undefined },
): Promise<string | null> {
  const { property } = context;
  const fits = fitting(context, node, referred, at === undefined ? sql`now()` : cast(at, "timestamptz"));
  // A worker may be lost behind its commit: the job runs again, and players who have left would enter twice.
  const entered = sql`exists (
    select from journey_enrollments d
    where d.property_id = ${property.id}::uuid and d.journey_id = ${id}::uuid and d.player_id = p.id
      and d.path[1] = ${node.id}::text and d.entered_at >= ${cast(at ?? since, "timestamptz")})`;
  const page = sql`
    select p.id from players p
    where p.property_id = ${property.id}::uuid and p.id > ${after}::uuid and ${fits} and not ${entered} order by p.id limit ${CHUNK}::int`;
  const [counted] = await context.sql<[{ last: string | null }]>`
    ${adHoc(sql`select (array_agg(id order by id))[${CHUNK}::int] as last from (${page}) p`)}`;
  await enroll(
    context,
    adHoc(sql`
      select ${id}::uuid as journey_id, ${current_version}::int as version, ${node.id}::text as node,
        ${reentry}::jsonb as reentry, p.id as player_id, ''::text as entry_key, '{}'::jsonb as context
      from (${page}) p`),
  );
  return counted.last;
}
