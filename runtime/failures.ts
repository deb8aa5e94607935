import { type Fault, toFault } from "./faults.ts";
import type { Log } from "./log.ts";

/** What the line in the log says of the request, beside the failure. */
export interface About {
  requestId: string;
  [detail: string]: string | undefined;
}

const told = new WeakSet<Fault>();

/** Any thrown value as a fault. A failure of ours is logged with its stack, once, wherever it passes by first. */
export function toToldFault(log: Log, error: unknown, about: About): Fault {
  const fault = toFault(error);
  if (fault.status < 500 || told.has(fault)) return fault;
  told.add(fault);
  const level = fault.code === "internal" ? "error" : "warn";
  log[level]({ err: fault.cause ?? fault, ...about }, "request failed");
  return fault;
}
