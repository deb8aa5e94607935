import { z } from "zod";
import type { NodeKind } from "./node.ts";

export const GoalConfig = z.strictObject({});
export const ExitConfig = z.strictObject({
  reason: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/, "must be up to 40 lower-case letters, digits and _, a letter first")
    .default("completed")
    .describe("Such as not_interested. Default: completed"),
});

export const goal: NodeKind<z.output<typeof GoalConfig>> = {
  type: "goal",
  meaning: "Ends the journey for the player with the goal reached.",
  config: GoalConfig,
  labels: () => [],
};

export const exit: NodeKind<z.output<typeof ExitConfig>> = {
  type: "exit",
  meaning: "Ends the journey for the player, with a reason that the report counts.",
  config: ExitConfig,
  labels: () => [],
};
