import { say } from "#transports/console/words/say.ts";

/** A reason for leaving a recipient out, as a sentence; empty for one that is unknown. */
export function reasonWords(reason: string): string {
  const { reasons } = say();
  return Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : "";
}
