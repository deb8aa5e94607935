import { z } from "zod";
import { sql } from "#db/sql.ts";
import { NEXT, type NodeKind } from "./node.ts";

const SECONDS = { minute: 60, hour: 3600, day: 86_400 } as const;

export const RateConfig = z.strictObject({
  most: z.int().min(1).max(1_000_000).describe("Players let through at the most"),
  per: z.enum(["minute", "hour", "day"]),
});
export type RateConfig = z.output<typeof RateConfig>;

/** Seconds in which at most the limit may pass. */
export const secondsOf = ({ per }: RateConfig): number => SECONDS[per];

export const rateLimit: NodeKind<RateConfig> = {
  type: "rate_limit",
  meaning:
    "Lets at most so many players through in any minute, hour or day, evenly spaced, in the order of their arrival.",
  config: RateConfig,
  labels: () => [NEXT],
  // No time of their own moves people on: the line does.
  arrival: () => ({ phase: "in_line", wakeAt: sql`null::timestamptz` }),
  next: () => sql`${NEXT}::text`,
};
