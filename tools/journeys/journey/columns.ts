import { z } from "zod";
import { readable, timestamp, writable } from "#runtime/operation/columns.ts";
import { QUIET_ACTIONS } from "#tools/compliance/quiet-hours-rules.table.ts";
import { ExitConditions, JourneyGoal, Reentry } from "#tools/journeys/definition/definition.ts";
import { DraftDefinition } from "#tools/journeys/definition/draft.ts";

/** The ways to treat the people inside when a new version is published. */
export const ON_PUBLISH = ["finish_old", "move_matching_nodes", "exit_old"] as const;
export type OnPublish = (typeof ON_PUBLISH)[number];

export const STATUSES = ["draft", "active", "paused", "archived"] as const;
export type Status = (typeof STATUSES)[number];

const EDITABLE = ["draft", "active", "paused"] as const satisfies Status[];

/** A part of the draft. People follow it from the next publishing on. */
const drafted = <S extends z.ZodType>(schema: S) => writable(schema, { while: EDITABLE, copied: true });

/** The columns of a journey, in the order of answers. */
export const columns = {
  name: writable(z.string().trim().min(1).max(150).describe("For the staff; players do not see it"), {
    concise: true,
    while: EDITABLE,
  }),
  description: writable(z.string().max(2000).nullable().optional().describe("For the staff"), {
    while: EDITABLE,
    copied: true,
  }),
  status: readable(z.enum(STATUSES), { concise: true }),
  status_reason: readable(z.string().nullable(), { concise: true }),
  draft_definition: drafted(
    DraftDefinition.default({ nodes: [], edges: [] }).describe(
      "Nodes and edges. The resource schema://journeys has the types with an example",
    ),
  ),
  reentry: drafted(Reentry),
  goal: drafted(JourneyGoal.nullable().optional().describe("The purpose: an event or conditions")),
  exit_conditions: drafted(
    ExitConditions.nullable().optional().describe("Players who fit these leave before the next node acts"),
  ),
  on_publish: drafted(
    z
      .enum(ON_PUBLISH)
      .default("finish_old")
      .describe(
        "The players inside when it is published again: finish the old version; move to the node of the same id and type, or leave; or all leave",
      ),
  ),
  quiet_hours: drafted(
    z
      .enum(QUIET_ACTIONS)
      .default("defer")
      .describe("A message that comes at closed hours: defer waits for open ones, skip drops it"),
  ),
  priority: drafted(
    z
      .int()
      .min(-1000)
      .max(1000)
      .default(0)
      .describe("Of its messages among campaigns that send at the same time"),
  ),
  ends_at: drafted(timestamp().nullable().optional().describe("When it ends for everybody")),
  current_version: readable(z.int().nullable().describe("The published version that people enter"), {
    concise: true,
  }),
  version: readable(z.int().describe("Of the record: each change counts it up")),
  published_at: readable(timestamp().nullable(), { concise: true }),
  paused_at: readable(timestamp().nullable()),
  archived_at: readable(timestamp().nullable()),
};
