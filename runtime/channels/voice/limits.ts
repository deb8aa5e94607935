import type { CallTimes, VoiceMessage } from "../provider/call.ts";
import type { SendOutcome } from "../provider/channel.ts";

/** Carriers let a phone ring some seconds longer than they are told. */
const RING_BUFFER_SECONDS = 5;

/** Seconds that a call may take, so that it ends before the open hours do. */
function secondsLeft(
  { mostSeconds, ringSeconds, latest }: VoiceMessage,
  { rings = 0 }: CallTimes,
  now: number,
): number {
  if (latest === null) return mostSeconds;
  const ringing = Math.max(ringSeconds, rings) + RING_BUFFER_SECONDS;
  return Math.min(mostSeconds, Math.floor((Date.parse(latest) - now) / 1000 - ringing));
}

/**
 * The limit of a call in seconds. Otherwise the outcome of a call that is not made: its vendor would end it after the
 * open hours, or after the longest time of a call.
 */
export function callLimit(
  message: VoiceMessage,
  {
    callbackUrl,
    needsSender,
    times,
  }: { callbackUrl: string | undefined; needsSender: boolean; times: CallTimes },
  now = Date.now(),
): { limit: number; callbackUrl: string } | SendOutcome {
  const { id, from, mostSeconds } = message;
  const fault = (text: string): SendOutcome => {
    return { id, status: "retry", code: "not_set_up", message: text, fatal: true };
  };
  if (callbackUrl === undefined) return fault("BASE_URL must begin with https.");
  if (needsSender && from === undefined) return fault("The record has no from_address.");
  if (mostSeconds < times.shortest)
    return fault(`The vendor ends no call within ${mostSeconds} seconds, the longest time of a call.`);
  const limit = secondsLeft(message, times, now);
  if (limit >= times.shortest) return { limit, callbackUrl };
  return { id, status: "retry", code: "late", message: "The open hours end too soon for a call." };
}
