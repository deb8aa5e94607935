import { z } from "zod";
import { sql } from "#db/sql.ts";
import { NEXT, type NodeKind } from "./node.ts";

const SECONDS = { minute: 60, hour: 3600, day: 86_400 } as const;

export const RateConfig = z.strictObject({
  most: z.int().min(1).max(1_000_000).describe("Players let through at the most"),
  per: z.enum(["minute", "hour", "day"]),
});
export type RateConfig = z.output<typeof RateConfig>;

/** Seconds between two players, in the whole microseconds of the database. Rounded up: never do more pass. */
export function spacing(config: RateConfig): number {
  return Math.ceil((secondsOf(config) * 1e6) / config.most) / 1e6;
}

/** Seconds in which at most the limit may pass. */
export const secondsOf = ({ per }: RateConfig): number => SECONDS[per];

export const rateLimit: NodeKind<RateConfig> = {
  type: "rate_limit",
  meaning:
    "Lets only so many players a minute, hour or day through, evenly spaced, in the order of their arrival.",
  config: RateConfig,
  labels: () => [NEXT],
  next: () => sql`${NEXT}::text`,
};
