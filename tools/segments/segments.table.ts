import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, readable, timestamp, writable } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type NextOf, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { type UntilRefused, untilRefused } from "#runtime/together.ts";
import { lockChanges, lockUses, refuseUsed, refuseUsedInJourney } from "#tools/uses/refuse-used.ts";
import refreshSegment, { forgetMembers } from "./refresh-segment.job.ts";
import { Condition, Group } from "./rules/compile.ts";
import { audienceOf } from "./rules/references.ts";
import { unknownValues } from "./unknown-values.ts";

const MOST_EXCLUDED = 50;

const columns = {
  name: writable(z.string().trim().min(1).max(200).describe("Unique"), { concise: true }),
  description: writable(z.string().max(2000).nullable().optional().describe("For the staff"), {
    concise: true,
  }),
  type: writable(
    z
      .enum(["static", "dynamic"])
      .default("dynamic")
      .describe("dynamic: all players who match the conditions now. static: its own list of members"),
    { concise: true },
  ),
  logic: writable(z.enum(["and", "or"]).default("and").describe("How the conditions join"), {
    concise: true,
  }),
  conditions: writable(
    z
      .array(Condition)
      .max(200)
      .default([])
      .describe('Rule rows, such as {"field":"tier","operator":"eq","value":"Gold"}'),
    { concise: true },
  ),
  groups: writable(z.array(Group).max(200).default([]).describe("Nested rule groups"), { concise: true }),
  exclude_segment_ids: writable(
    z
      .array(z.uuid())
      .max(MOST_EXCLUDED)
      .default([])
      .describe("Segments whose players are left out, from list_segments"),
    { concise: true },
  ),
  member_count: readable(z.int().nullable().describe("As of last_computed_at; segment_preview counts now"), {
    concise: true,
  }),
  state: readable(
    z
      .enum(["ready", "computing", "failed"])
      .describe("failed: the rules refer to a deleted record, so no campaign can use the segment"),
    { concise: true },
  ),
  version: readable(z.int(), { concise: true }),
  last_computed_at: readable(timestamp().nullable().describe("null before the first count")),
  estimated: readable(
    z.boolean().describe("Whether member_count is an estimate. It is false: every count is exact"),
  ),
};

export default table({
  name: "segments",
  noun: "segment",
  key: ["name"],
  called: "name",
  description:
    "A segment is a saved audience: dynamic ones are rules over players, evaluated at each use; static ones are lists of members. create_segment makes one, segment_preview tries its rules.",
  softDelete: true,
  shapesMessages: ["update", "delete"],
  columns,
  beforeWrite,
  beforeWrites,
  afterWrite,
});

type Changes = Change<typeof columns>;
type Writing = Exclude<Changes, { verb: "delete" }>;

async function beforeWrite(context: Context, { verb, current }: Changes): Promise<Values> {
  if (verb === "delete") await refuseUsed(context, { noun: "segment", id: current.id });
  return {};
}

/** One lock for all changes: calls that took a stronger one later would wait for one another in a circle. */
async function beforeWrites(context: Context, changes: Changes[]): Promise<UntilRefused<Values>> {
  const writings = changes as Writing[];
  await (writings.some(movesType) ? lockChanges(context) : lockUses(context));
  return untilRefused(writings, (change) => valuesOf(context, change));
}

/** Nobody enters a list by rules, and a journey puts nobody on a list that rules make. */
const movesType = (change: Writing): boolean =>
  change.current !== null && afterChange(columns, change).type !== change.current.type;

async function valuesOf(context: Context, change: Writing): Promise<Values> {
  const { verb, input, current } = change;
  const next = afterChange(columns, change);
  if (current && movesType(change)) await refuseUsedInJourney(context, { noun: "segment", id: current.id });
  if (next.type === "static" && next.conditions.length + next.groups.length > 0) {
    throw invalid("conditions", "belong to dynamic segments; a static one has members");
  }
  const values = isCounted(current, next) ? input : { ...input, state: "computing" };
  return verb === "update" ? { ...values, version: current.version + 1 } : values;
}

const RULES = ["type", "logic", "conditions", "groups", "exclude_segment_ids"] as const;

/** Whether the count of a segment stays good: its rules stay as they are. */
function isCounted(current: RowOf<typeof columns> | null, next: NextOf<typeof columns>): boolean {
  return current?.state === "ready" && RULES.every((name) => isDeepStrictEqual(next[name], current[name]));
}

/** Checks that the rules compile, that their references exist, and that no segments form a cycle. */
async function afterWrite(
  context: Context,
  { verb, current, row }: Change<typeof columns> & { row: RowOf<typeof columns> },
): Promise<void> {
  const { sql, property, enqueue } = context;
  if (verb === "delete") return;
  if (row.type === "static" && current?.type === "dynamic") await forgetMembers(sql, property.id, row.id);
  await audienceOf(sql, property.id, row.id).catch((error: unknown) => {
    throw asWritten(error, row.id);
  });
  // The count comes later.
  if (row.type === "dynamic") for (const why of await unknownValues(context, row)) context.warn?.(why);
  enqueue(refreshSegment, { segmentId: row.id }, { dedupe: row.id });
}

/** An error in the caller's own rules names their path only: a new segment has no id yet. */
function asWritten(error: unknown, id: string): unknown {
  if (!(error instanceof Fault)) return error;
  const bare = (text: string) => text.replaceAll(`segment ${id} `, "");
  const details = error.details?.map(({ field, message }) => ({ field: bare(field), message }));
  return new Fault(error.code, { message: bare(error.message), ...(details && { details }) });
}
