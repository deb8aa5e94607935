import { z } from "zod";
import { Cost } from "#tools/campaigns/preflight/cost.ts";

const People = z.int().describe("Players");
const Day = z.string().describe("By the property's clock");

/** All that becomes of the people of a simulated journey. */
export const SimulatedOutcome = z.object({
  moves: z
    .array(z.object({ day: Day, from: z.string(), to: z.string(), people: People }))
    .describe("Arrivals at each node by day and the node before; an entry comes from an empty text"),
  ends: z
    .array(z.object({ day: Day, node: z.string(), reason: z.string(), people: People }))
    .describe("Players for whom the journey ended, by day"),
  sends: z.array(z.object({ day: Day, node: z.string(), channel: z.string(), messages: z.int() })),
  not_sent: z
    .array(z.object({ node: z.string(), reason: z.string(), messages: z.int() }))
    .describe("Messages that the gate or a rule kept back, by reason"),
  deferred: z
    .array(z.object({ node: z.string(), reason: z.string(), messages: z.int() }))
    .describe("Messages that waited for open hours or for a frequency rule"),
  cost: z.array(Cost.extend({ node: z.string() })).describe("Of each message node"),
  peaks: z
    .array(
      z.object({
        channel: z.string(),
        at: z.string(),
        messages: z.int().describe("In these 15 minutes"),
        a_minute: z.int(),
        provider_a_minute: z.number().nullable().describe("The provider's rate; null: unlimited"),
      }),
    )
    .describe("The busiest quarter of an hour of each channel"),
  collisions: z
    .array(z.object({ campaign_id: z.uuid(), name: z.string(), at: z.string(), people: People }))
    .describe("Scheduled campaigns on the same channel, on the day of a message to the same players"),
  timelines: z
    .array(
      z.object({
        player_id: z.uuid(),
        status: z.string(),
        exit_reason: z.string().nullable(),
        steps: z.array(z.object({ node: z.string(), at: z.string() })),
      }),
    )
    .describe("Three players with different ways"),
});
export type SimulatedOutcome = z.output<typeof SimulatedOutcome>;
