import { z } from "zod";
import { readable, timestamp, writable } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Row, table } from "#runtime/operation.ts";
import { Condition, Group } from "./conditions.ts";
import { audienceOf } from "./conditions-segments.ts";
import refreshSegment, { forgetMembers } from "./refresh-segment.job.ts";

const MOST_EXCLUDED = 50;

export default table({
  name: "segments",
  noun: "segment",
  concise: [
    "name",
    "description",
    "type",
    "logic",
    "conditions",
    "groups",
    "exclude_segment_ids",
    "member_count",
    "state",
    "version",
    "created_at",
  ],
  key: ["name"],
  description:
    "A segment is a saved audience: dynamic ones are rules over players, evaluated at each use; static ones are lists of members. create_segment makes one, segment_preview tries its rules.",
  softDelete: true,
  columns: {
    name: writable(z.string().trim().min(1).max(200)),
    description: writable(z.string().max(2000).nullable().optional()),
    type: writable(
      z
        .enum(["static", "dynamic"])
        .default("dynamic")
        .describe("dynamic: whoever matches the conditions now. static: the members that were put in"),
    ),
    logic: writable(z.enum(["and", "or"]).default("and").describe("How the conditions join")),
    conditions: writable(
      z
        .array(Condition)
        .max(200)
        .default([])
        .describe('Rule rows, such as {"field":"tier","operator":"eq","value":"Gold"}'),
    ),
    groups: writable(z.array(Group).max(200).default([]).describe("Nested rule groups")),
    exclude_segment_ids: writable(
      z
        .array(z.uuid())
        .max(MOST_EXCLUDED)
        .default([])
        .describe("Segments whose players are left out, from list_segments"),
    ),
    member_count: readable(
      z.int().nullable().describe("As of last_computed_at; segment_preview counts at the moment"),
    ),
    state: readable(
      z
        .enum(["ready", "computing", "failed"])
        .describe("failed: the rules refer to what is not there any more, and nobody can be sent to"),
    ),
    version: readable(z.int()),
    last_computed_at: readable(timestamp().nullable().describe("null before the first counting")),
    estimated: readable(z.boolean()),
  },
  beforeWrite,
  afterWrite,
});

interface Rules {
  type: "static" | "dynamic";
  conditions: Condition[];
  groups: Group[];
  exclude_segment_ids: string[];
}

async function beforeWrite(_: Context, { verb, input, current }: Change): Promise<Record<string, unknown>> {
  if (verb === "delete") return {};
  const next = { ...current, ...input } as unknown as Rules;
  if (next.type === "static" && next.conditions.length + next.groups.length > 0) {
    throw invalid("conditions", "belong to dynamic segments; a static one has members");
  }
  const values = { ...input, state: "computing" };
  return verb === "update" ? { ...values, version: Number(current?.version) + 1 } : values;
}

/** What is stored can be used: its rules compile, what they refer to is there, and nothing goes in a circle. */
async function afterWrite(
  { sql, property, enqueue }: Context,
  { verb, current, row }: Change & { row: Row },
): Promise<void> {
  if (verb === "delete") return;
  if (row.type === "static" && current?.type === "dynamic") await forgetMembers(sql, property.id, row.id);
  await audienceOf(sql, property.id, row.id).catch((error: unknown) => {
    throw asWritten(error, row.id);
  });
  enqueue(refreshSegment, { segmentId: row.id }, { dedupe: row.id });
}

/** Of its own rules the caller knows where they stand, and of a new segment no id. */
function asWritten(error: unknown, id: string): unknown {
  if (!(error instanceof Fault)) return error;
  const bare = (text: string) => text.replaceAll(`segment ${id} `, "");
  const details = error.details?.map(({ field, message }) => ({ field: bare(field), message }));
  return new Fault(error.code, { message: bare(error.message), ...(details && { details }) });
}
