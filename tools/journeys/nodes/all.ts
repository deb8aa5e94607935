import { addToSegment, grantGamePlay, updatePlayer, webhook } from "./actions.ts";
import { branch } from "./branch.ts";
import { delay } from "./delay.ts";
import { exit, goal } from "./ends.ts";
import { message } from "./message.ts";
import type { NodeKind } from "./node.ts";
import { randomSplit } from "./random-split.ts";
import { rateLimit } from "./rate-limit.ts";
import { timeWindow } from "./time-window.ts";
import { trigger } from "./trigger.ts";
import { waitUntil } from "./wait-until.ts";

/** The types of nodes. */
export const KINDS = {
  trigger,
  message,
  delay,
  wait_until: waitUntil,
  time_window: timeWindow,
  branch,
  random_split: randomSplit,
  rate_limit: rateLimit,
  update_player: updatePlayer,
  add_to_segment: addToSegment,
  grant_game_play: grantGamePlay,
  webhook,
  goal,
  exit,
} as const;

export type NodeType = keyof typeof KINDS;

/** The kind of a type, without the type of its config: the definition's schema has checked that. */
export function kindOf(type: NodeType): NodeKind<unknown> {
  return KINDS[type] as NodeKind<unknown>;
}
