import { invalid } from "#runtime/faults.ts";

/** The channels that campaigns and templates are written for. */
export const MESSAGE_CHANNELS = ["email", "sms", "voice", "push", "inbox", "loyaltyvip"] as const;

/** Those that nothing can be sent by yet. */
const NOT_YET: ReadonlySet<string> = new Set(["voice"]);

/** Refuses a channel that nothing can be sent by. */
export function checkSendable(channel: string | undefined): void {
  if (channel === undefined || !NOT_YET.has(channel)) return;
  const known = MESSAGE_CHANNELS.filter((one) => !NOT_YET.has(one)).join(", ");
  throw invalid("channel", `${channel} messages cannot be sent yet; there are ${known}`);
}
