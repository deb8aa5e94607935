import type { BarredStatus } from "#tools/statuses/players.ts";

/** The reasons why an enrollment ends, each as the rest of a sentence about the player. An exit node may give others. */
export const EXIT_REASONS = {
  completed: "reached the end",
  goal_reached: "reached the goal",
  exit_condition: "came to fit the exit conditions",
  missing_date: "has no date to wait for",
  consent_revoked: "refused all channels of its messages",
  self_excluded: "is excluded from gambling",
  erased: "had the data erased",
  deleted: "was deleted",
  banned: "was banned",
  deceased: "has died",
  journey_archived: "was inside when it was archived",
  journey_ended: "was inside at its end",
  workflow_changed: "stood at a node that the new version has not",
  manual: "was taken out",
  loop_limit: "came to one node 100 times",
} as const satisfies Record<BarredStatus, string> & Record<string, string>;

export type ExitReason = keyof typeof EXIT_REASONS;
