import type { IncomingMessage } from "node:http";
import { Fault } from "#runtime/faults.ts";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { type AdmissionControl, addressOf } from "./admission.ts";
import { type Frame, strangersFrame } from "./answer.ts";

/** Signed requests are counted for their headers and never refused: few addresses report for all properties. */
const SIGNED_LIMIT = 1_000_000;
/** Refused requests a minute from one address: for one provider record, and in all for unknown records. */
const REFUSED_LIMIT = 600;
const UNKNOWN_LIMIT = 6_000;

type Bucket = [name: string, limit: number];

/** The limits of one request at a provider's address. */
export interface CallbackLimits {
  /** Throws `rate_limited` while the caller's refusals have spent a limit. */
  check(): void;
  /** Counts a signed request. */
  signed(): Frame;
  /** Counts the refusal of a request. */
  refused(fault: Fault): Frame;
}

export function callbackLimits(
  control: AdmissionControl,
  incoming: IncomingMessage,
  providerId: string,
): CallbackLimits {
  const { limiter, directory } = control;
  const address = networkOf(addressOf(control, incoming) ?? "unknown");
  const ofRecord: Bucket = [`callbacks:${address}:${providerId}`, REFUSED_LIMIT];
  const unknown: Bucket = [`callbacks:${address}`, UNKNOWN_LIMIT];
  const spent = () => [ofRecord, unknown].find((bucket) => !limiter.peek(...bucket).allowed);
  return {
    check: () => {
      const bucket = spent();
      if (!bucket) return;
      const { reset } = limiter.peek(...bucket);
      const retryAfter = Math.max(1, reset - Math.floor(directory.now() / 1000));
      throw new Fault("rate_limited", { retryAfter });
    },
    signed: () => strangersFrame(control, limiter.take(`callbacks:${providerId}`, SIGNED_LIMIT)),
    refused: ({ code, status }) => {
      const bucket = spent() ?? (status === 404 ? unknown : ofRecord);
      // The record could not be read: that must not count against the vendor's next request.
      const count = code === "unavailable" ? limiter.peek : limiter.take;
      return strangersFrame(control, count(...bucket));
    },
  };
}
