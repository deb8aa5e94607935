import { say } from "#transports/console/words/say.ts";

/** A reason for leaving a recipient out of a channel, as a sentence; empty for one that is unknown. */
export function reasonWords(reason: string, channel: unknown): string {
  const { reasons, callReasons } = say();
  if (channel === "voice" && Object.hasOwn(callReasons, reason)) {
    return callReasons[reason as keyof typeof callReasons];
  }
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : "";
}
