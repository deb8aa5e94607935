import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";

/** One request or job, with its W3C trace context. Its fields go into its line of the log. */
export interface Activity {
  /** 32 hexadecimal digits, the same from a request over its jobs to the calls of vendors. */
  readonly traceId: string;
  /** Two hexadecimal digits: 01 where the caller records the trace. */
  readonly flags: string;
  requestId?: string;
  operation?: string;
  propertyId?: string | undefined;
  actor?: string;
  /** Why it failed, where that is no fault of ours: an outage is one line a request. */
  reason?: string;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
const NO_TRACE = "0".repeat(32);
const SPAN_DIGITS = 16;
const storage = new AsyncLocalStorage<Activity>();

/** A new activity: of the caller's trace, or of one of its own where the header is missing or wrong. */
export function activityOf(traceparent: string | null | undefined): Activity {
  const [, traceId, , flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || traceId === NO_TRACE) {
    return { traceId: randomHex(), flags: "00" };
  }
  return { traceId, flags: flags! };
}

export function withActivity<T>(activity: Activity, work: () => T): T {
  return storage.run(activity, work);
}

export function currentActivity(): Activity | undefined {
  return storage.getStore();
}

/** The `traceparent` for a job or a call that the current activity causes; null outside of one. */
export function traceparent(): string | null {
  const activity = storage.getStore();
  if (!activity) return null;
  return `00-${activity.traceId}-${randomHex().slice(0, SPAN_DIGITS)}-${activity.flags}`;
}

/** Binds work to the current activity, so that another caller runs it in this one. */
export function inActivity<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T {
  return AsyncLocalStorage.bind(work);
}

/** 32 hexadecimal digits. Node keeps random bytes ready for UUIDs; to ask the system for some costs several times as much. */
function randomHex(): string {
  return randomUUID().replaceAll("-", "");
}
