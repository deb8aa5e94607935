import { type Fault, toFault } from "./faults.ts";
import type { Log } from "./log.ts";

/** Details of the request for the log line. */
export interface About {
  requestId: string;
  [detail: string]: string | undefined;
}

const told = new WeakSet<Fault>();

/**
 * Converts any thrown value to a fault. A failure of the service is logged with its stack, once, at the first call.
 */
export function toToldFault(log: Log, error: unknown, about: About): Fault {
  const fault = toFault(error);
  if (fault.status < 500 || told.has(fault)) return fault;
  told.add(fault);
  const level = fault.code === "internal" ? "error" : "warn";
  log[level]({ err: fault.cause ?? fault, ...about }, "request failed");
  return fault;
}
