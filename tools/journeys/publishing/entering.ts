import { Cron } from "croner";
import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";

/** Reference to the job that enrolls all who fit a trigger. The job stands above the rooms that enqueue it. */
export const ENTER_JOURNEY = {
  name: "enter_journey",
  attempts: 100,
  input: z.object({
    journeyId: z.uuid(),
    version: z.int(),
    node: z.string(),
    /** Once, for those who fit already; else the trigger's times go on. */
    backfill: z.boolean().default(false),
    /** ISO time for which it was put on the queue; it may run later. */
    at: z.string().optional(),
    /** The last player of the page before. */
    after: z.uuid().optional(),
  }),
};

/** A day that passed while no worker ran can be made up for within this time. */
const MADE_UP_FOR = 24 * 3_600_000;

/**
 * Puts the next time of a trigger on the queue: of a schedule, or of a yearly date. `last`: the ISO time before. Each
 * day of a yearly date has its own people, so a day that has passed comes next; a schedule goes on from now.
 */
export function enterLater(
  { enqueue, now, property }: Pick<Context, "enqueue" | "now" | "property">,
  journeyId: string,
  { version, node, last }: { version: number; node: NodeOf<"trigger">; last?: string | undefined },
): void {
  const pattern = patternOf(node);
  if (pattern === null) return;
  const cron = new Cron(pattern, { timezone: property.timezone, paused: true });
  const isDaily = node.config.on === "date_field" && last !== undefined;
  const next = cron.nextRun(new Date(isDaily ? Math.max(Date.parse(last), now() - MADE_UP_FOR) : now()));
  if (!next) return;
  const input = { journeyId, version, node: node.id, backfill: false, at: next.toISOString() };
  enqueue(ENTER_JOURNEY, input, { dedupe: `${journeyId}/${version}/${node.id}`, runAt: next.toISOString() });
}

/** The times of a trigger in a span of milliseconds, the first `most` of them. */
export function entryTimes(
  { property }: Pick<Context, "property">,
  node: NodeOf<"trigger">,
  { from, until, most }: { from: number; until: number; most: number },
): string[] {
  const pattern = patternOf(node);
  if (pattern === null) return [];
  const cron = new Cron(pattern, { timezone: property.timezone, paused: true });
  const times = cron.nextRuns(most, new Date(from));
  return times.filter((time) => time.getTime() < until).map((time) => time.toISOString());
}

function patternOf({ config }: NodeOf<"trigger">): string | null {
  if (config.on === "schedule") return config.cron;
  if (config.on !== "date_field") return null;
  const [hour, minute] = config.time.split(":").map(Number);
  return `${minute} ${hour} * * *`;
}
