import { Cron } from "croner";
import { z } from "zod";
import type { Context } from "#runtime/operation/context.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";

/** Reference to the job that enrolls all who fit a trigger. The job stands above the rooms that enqueue it. */
export const ENTER_JOURNEY = {
  name: "enter_journey",
  attempts: 20,
  input: z.object({
    journeyId: z.uuid(),
    version: z.int(),
    node: z.string(),
    /** Once, for those who fit already; else the trigger's times go on. */
    backfill: z.boolean().default(false),
    /** The last player of the page before. */
    after: z.uuid().optional(),
  }),
};

/** Puts the next time of a trigger on the queue: of a schedule, or of a yearly date. */
export function enterLater(
  { enqueue, now, property }: Pick<Context, "enqueue" | "now" | "property">,
  journeyId: string,
  { version, node }: { version: number; node: NodeOf<"trigger"> },
): void {
  const pattern = patternOf(node);
  if (pattern === null) return;
  const cron = new Cron(pattern, { timezone: property.timezone, paused: true });
  const next = cron.nextRun(new Date(now()));
  if (!next) return;
  const input = { journeyId, version, node: node.id, backfill: false };
  enqueue(ENTER_JOURNEY, input, { dedupe: `${journeyId}/${version}/${node.id}`, runAt: next.toISOString() });
}

function patternOf({ config }: NodeOf<"trigger">): string | null {
  if (config.on === "schedule") return config.cron;
  if (config.on !== "date_field") return null;
  const [hour, minute] = config.time.split(":").map(Number);
  return `${minute} ${hour} * * *`;
}
