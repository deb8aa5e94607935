import { z } from "zod";
import { AddConfig, GrantConfig, UpdateConfig, WebhookConfig } from "#tools/journeys/nodes/actions.ts";
import { KINDS } from "#tools/journeys/nodes/all.ts";
import { BranchConfig, Label } from "#tools/journeys/nodes/branch.ts";
import { DelayConfig } from "#tools/journeys/nodes/delay.ts";
import { ExitConfig, GoalConfig } from "#tools/journeys/nodes/ends.ts";
import { EventFilter, EventName } from "#tools/journeys/nodes/event-filter.ts";
import { MessageConfig } from "#tools/journeys/nodes/message.ts";
import { SplitConfig } from "#tools/journeys/nodes/random-split.ts";
import { RateConfig } from "#tools/journeys/nodes/rate-limit.ts";
import { WindowConfig } from "#tools/journeys/nodes/time-window.ts";
import { TriggerConfig } from "#tools/journeys/nodes/trigger.ts";
import { Rules, WaitConfig } from "#tools/journeys/nodes/wait-until.ts";

export const MOST_NODES = 200;
export const MOST_EDGES = 600;

const NodeId = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,39}$/, "must be up to 40 lower-case letters, digits, _ and -, a letter first");

const node = <T extends keyof typeof KINDS, C extends z.ZodType>(type: T, config: C) =>
  z
    .strictObject({ id: NodeId, type: z.literal(type), name: z.string().max(100).optional(), config })
    .describe(KINDS[type].meaning);

export const Node = z.discriminatedUnion("type", [
  node("trigger", TriggerConfig),
  node("message", MessageConfig),
  node("delay", DelayConfig),
  node("wait_until", WaitConfig),
  node("time_window", WindowConfig),
  node("branch", BranchConfig),
  node("random_split", SplitConfig),
  node("rate_limit", RateConfig),
  node("update_player", UpdateConfig),
  node("add_to_segment", AddConfig),
  node("grant_game_play", GrantConfig),
  node("webhook", WebhookConfig),
  node("goal", GoalConfig.default({})),
  node("exit", ExitConfig.default({ reason: "completed" })),
]);
export type Node = z.output<typeof Node>;
/** A node of one type. */
export type NodeOf<T extends Node["type"]> = Extract<Node, { type: T }>;

const Edge = z.strictObject({
  from: NodeId,
  to: NodeId,
  label: Label.optional().describe(
    "Which way out of the node: yes, timed_out, a branch's label. Left out: all others",
  ),
});

/** The nodes and edges of a journey. */
export const Definition = z.strictObject({
  nodes: z.array(Node).max(MOST_NODES),
  edges: z.array(Edge).max(MOST_EDGES),
});
export type Definition = z.output<typeof Definition>;

export const Reentry = z
  .strictObject({
    mode: z
      .enum(["never", "after_exit", "always"])
      .default("never")
      .describe(
        "Whether a player who has left may come in again. Nobody is inside twice at once, but by entry_key",
      ),
    cooldown_hours: z
      .int()
      .min(0)
      .max(8760)
      .default(0)
      .describe("With after_exit: hours after the last exit"),
    max_entries: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe("Entries of one player at the most; with an entry_key, for each of its values"),
  })
  .prefault({})
  .describe("Whether players who have left may come in again. Default: never");
export type Reentry = z.output<typeof Reentry>;

const Event = z.strictObject({ name: EventName, properties: EventFilter });

/** The purpose of a journey. */
export const JourneyGoal = z.strictObject({
  event: Event.optional().describe("The player does this after the entry"),
  ...Rules,
  window_hours: z
    .int()
    .min(1)
    .max(8760)
    .optional()
    .describe("How long after the entry it counts. Default: always"),
  exit_on_goal: z.boolean().default(true).describe("A player who reaches it leaves"),
});
export type JourneyGoal = z.output<typeof JourneyGoal>;

/** Conditions that end a journey for the players who fit them. */
export const ExitConditions = z.strictObject(Rules);
export type ExitConditions = z.output<typeof ExitConditions>;
