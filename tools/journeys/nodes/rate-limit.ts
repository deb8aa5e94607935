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
export function spacing({ most, per }: RateConfig): number {
  return Math.ceil((SECONDS[per] * 1e6) / most) / 1e6;
}

export const rateLimit: NodeKind<RateConfig> = {
  type: "rate_limit",
  meaning:
    "Lets only so many players a minute, hour or day through, evenly spaced, in the order of their arrival.",
  config: RateConfig,
  labels: () => [NEXT],
  next: () => sql`${NEXT}::text`,
};
