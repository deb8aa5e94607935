import type { VoiceMessage } from "../provider/call.ts";
import type { SendOutcome } from "../provider/channel.ts";

/** No vendor ends a call sooner. */
const LEAST_LIMIT = 30;

/** Seconds that a call may take, so that it ends before the open hours do. */
function secondsLeft({ mostSeconds, ringSeconds, latest }: VoiceMessage): number {
  if (latest === null) return mostSeconds;
  return Math.min(mostSeconds, Math.floor((Date.parse(latest) - Date.now()) / 1000) - ringSeconds);
}

/** The limit of a call, or the outcome of one that cannot be made now. */
export function callLimit(
  message: VoiceMessage,
  { callbackUrl, needsSender }: { callbackUrl: string | undefined; needsSender: boolean },
): { limit: number; callbackUrl: string } | SendOutcome {
  const { id, from } = message;
  if (callbackUrl === undefined || (needsSender && from === undefined)) {
    const what =
      callbackUrl === undefined ? "BASE_URL must begin with https." : "The record has no from_address.";
    return { id, status: "retry", code: "not_set_up", message: what, fatal: true };
  }
  const limit = secondsLeft(message);
  if (limit >= LEAST_LIMIT) return { limit, callbackUrl };
  return { id, status: "retry", code: "late", message: "The open hours end too soon for a call." };
}
