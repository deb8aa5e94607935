import { errorCode } from "#db/connection/error-code.ts";
import { QueryError } from "#db/query/readable-table.ts";
import { counted } from "./counted.ts";
import type { Log } from "./log.ts";
import { currentActivity } from "./telemetry/activity.ts";

/** Every failure that a caller can see: its stable code, its HTTP status and its default sentence. */
export const FAULTS = {
  invalid: { status: 400, message: "The request is not valid. Correct it and send it again." },
  missing_credential: { status: 401, message: "missing_credential" },
  invalid_credential: { status: 401, message: "invalid_credential" },
  credential_expired: { status: 401, message: "credential_expired" },
  insufficient_scope: { status: 403, message: "insufficient_scope" },
  wrong_property: { status: 403, message: "wrong_property" },
  forbidden: { status: 403, message: "This credential may not do that. Use one with the required role." },
  not_eligible: { status: 403, message: "The player may not play this game." },
  not_found: { status: 404, message: "No such record in this property. Check the id and the property." },
  method_not_allowed: {
    status: 405,
    message: "This address does not answer that method. Use one of the Allow header.",
  },
  not_acceptable: {
    status: 406,
    message: "The result is not exactly one record. Narrow the filters, or accept a list.",
  },
  request_timeout: { status: 408, message: "The request took too long to arrive. Send it again." },
  conflict: {
    status: 409,
    message: "The record's current state does not allow this. Read it again, then decide.",
  },
  approval_required: {
    status: 409,
    message: "A person of the property must approve this first. It waits as a proposal.",
  },
  idempotency_key_in_use: {
    status: 409,
    message: "A request with this Idempotency-Key is still running. Retry in a second.",
  },
  play_limit_reached: { status: 409, message: "The player has no play left in this game." },
  game_not_active: { status: 409, message: "The game takes no plays now." },
  legal_hold: {
    status: 409,
    message: "The player's data is under legal hold and must not be erased. Release the hold first.",
  },
  precondition_failed: {
    status: 412,
    message: "The record is not in the state that If-Match names. Read it again, then decide.",
  },
  too_large: { status: 413, message: "The body is too large. Send it in smaller parts." },
  unsupported_media_type: { status: 415, message: "This content type is not accepted here. Send JSON." },
  idempotency_key_reused: {
    status: 422,
    message: "This Idempotency-Key was used for another request. Use a new key for a new operation.",
  },
  rate_limited: { status: 429, message: "rate_limited" },
  header_too_large: {
    status: 431,
    message:
      "The request's address and headers are longer than 48 kB. Send shorter ones, and a long list in parts.",
  },
  internal: { status: 500, message: "The service failed. Retry with backoff." },
  unavailable: { status: 503, message: "The service is briefly unavailable. Retry with backoff." },
} as const satisfies Record<string, { status: number; message: string }>;

export type FaultCode = keyof typeof FAULTS;

/** Where the specification has the code itself as the message, a detail says what to do. */
const HINTS: Partial<Record<FaultCode, FaultDetail>> = {
  missing_credential: {
    field: "credential",
    message: "is required: an API key in X-Api-Key, or a key or a session's token in Authorization: Bearer",
  },
  invalid_credential: {
    field: "credential",
    message: "is unknown, revoked or malformed: use another one, or sign in again",
  },
  credential_expired: { field: "credential", message: "has expired: use another API key, or sign in again" },
  insufficient_scope: { field: "credential", message: "lacks the scope: use one with the scope write" },
  wrong_property: { field: "property_id", message: "is not a property of this credential" },
};

/** The detail of a fault whose sentence is its code alone. */
function hintOf(code: FaultCode, retryAfter: number | undefined): FaultDetail | undefined {
  if (code !== "rate_limited") return HINTS[code];
  const wait = retryAfter === undefined ? "a minute" : counted(retryAfter, "second");
  return { field: "retry_after", message: `too many requests: wait ${wait}, then send it again` };
}

/** One field of the input, and its problem. */
export interface FaultDetail {
  field: string;
  message: string;
}

export interface FaultOptions {
  message?: string;
  details?: FaultDetail[];
  /** Seconds to wait before another try. */
  retryAfter?: number;
  /** The exceeded limit, where it is not the credential's own, and the Unix second of its reset. */
  window?: { limit: number; reset: number };
  /** The transaction commits all the same: a refused sign-in counts. */
  commitWrites?: boolean;
  /** The methods that the address answers, for `method_not_allowed`. */
  allow?: string[];
  cause?: unknown;
}

/** Bounds of an answer's details, which must not grow with the input. */
const MOST_DETAILS = 20;
const MOST_FIELD = 200;
const MOST_MESSAGE = 4_000;

/** A failure meant for the caller. Anything else that is thrown becomes `internal`. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly details: FaultDetail[] | undefined;
  readonly retryAfter: number | undefined;
  readonly window: FaultOptions["window"];
  readonly commitWrites: boolean;
  readonly allow: string[] | undefined;

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(cut(options.message ?? FAULTS[code].message, MOST_MESSAGE), { cause: options.cause });
    this.name = "Fault";
    this.code = code;
    const hint = hintOf(code, options.retryAfter);
    this.details = options.details ? boundedDetails(options.details) : hint && [hint];
    this.retryAfter = options.retryAfter;
    this.window = options.window;
    this.commitWrites = options.commitWrites ?? false;
    this.allow = options.allow;
  }

  get status(): number {
    return FAULTS[this.code].status;
  }
}

/** The same refusal, by a call whose writes stay: its transaction commits. */
export function committing(fault: Fault): Fault {
  const { code, message, details, retryAfter, cause } = fault;
  const more = { ...(details && { details }), ...(retryAfter !== undefined && { retryAfter }) };
  return new Fault(code, { message, cause, commitWrites: true, ...more });
}

function boundedDetails(details: FaultDetail[]): FaultDetail[] {
  // One more detail stands for the rest.
  const listed = details.length > MOST_DETAILS + 1 ? details.slice(0, MOST_DETAILS) : details;
  const bounded = listed.map(({ field, message }) => ({
    field: cut(field, MOST_FIELD),
    message: cut(message, MOST_MESSAGE),
  }));
  if (listed.length < details.length) {
    bounded.push({ field: "body", message: `and ${details.length - listed.length} more problems` });
  }
  return bounded;
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = text.slice(0, most - 1);
  // The cut must not split a character.
  return `${start.isWellFormed() ? start : start.slice(0, -1)}…`;
}

/** A 400 that names one field. */
export function invalid(field: string, message: string): Fault {
  return new Fault("invalid", { message: `${field}: ${message}`, details: [{ field, message }] });
}

/** The only row, or the first. Throws `not_found` where there is none. */
export function one<T>(rows: readonly T[], noun: string, id: unknown): T {
  const [row] = rows;
  if (row === undefined) throw noSuch(noun, id);
  return row;
}

/** The `not_found` that names the id. */
export function noSuch(noun: string, id: unknown): Fault {
  return new Fault("not_found", { message: `No ${noun} with the id ${id} in this property.` });
}

/** An error about one record of several. A fault then names the record in its fields, as `[2].email`. */
export function thrownAt(index: number, error: unknown): unknown {
  const fault = toFault(error);
  if (fault.commitWrites || fault.status >= 500) return error;
  const details = fault.details?.map(({ field, message }) => ({ field: `[${index}].${field}`, message }));
  return new Fault(fault.code, {
    message: `Record [${index}]: ${fault.message}`,
    ...(details && { details }),
    ...(fault.retryAfter !== undefined && { retryAfter: fault.retryAfter }),
    cause: fault.cause,
  });
}

const CONNECTION_ERRORS = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
]);

/** The message of Citus about a lost connection to a worker. Its SQLSTATE is that of an internal error. */
const LOST_WORKER = /failure on connection|lost connection|server closed the connection/;

/** The REST body of a fault. */
export function faultBody(fault: Fault): object {
  return {
    error: fault.message,
    code: fault.code,
    ...(fault.details && { details: fault.details }),
    ...(fault.retryAfter !== undefined && { retry_after: fault.retryAfter }),
  };
}

/** Converts any thrown value to a fault. PostgreSQL's SQLSTATEs are mapped here and nowhere else. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const code = errorCode(error);
  if (error instanceof QueryError) return invalid(error.field, error.message);
  if (CONNECTION_ERRORS.has(code)) return new Fault("unavailable", { cause: error, retryAfter: 1 });
  if (!/^[0-9A-Z]{5}$/.test(code)) return new Fault("internal", { cause: error });
  if (code === "23505") {
    return new Fault("conflict", {
      message: "A record with these values exists already. Change that one, or use other values.",
      cause: error,
    });
  }
  if (code === "23503") {
    return new Fault("not_found", {
      message: "A record that this one refers to is not in this property. Check the ids.",
      cause: error,
    });
  }
  if (code.startsWith("22")) {
    return new Fault("invalid", {
      message: "A value does not fit its column's type. Correct the value.",
      cause: error,
    });
  }
  if (code === "23514" || code === "23502") {
    return new Fault("invalid", {
      message: "A value is not allowed for its column. Correct the value.",
      cause: error,
    });
  }
  if (code === "XX000" && LOST_WORKER.test((error as Error).message)) {
    return new Fault("unavailable", { cause: error, retryAfter: 1 });
  }
  if (code === "55P03" || /^(08|53|57|40)/.test(code) || code === "25P03" || code === "25P02") {
    return new Fault("unavailable", { cause: error, retryAfter: 1 });
  }
  return new Fault("internal", { cause: error });
}

/** Details of the request for the log line. */
interface FailedRequest {
  requestId: string;
  [detail: string]: string | undefined;
}

const logged = new WeakSet<Fault>();

/**
 * Converts any thrown value to a fault. A failure of the service is logged with its stack, once, at the first call. An
 * outage has no stack: its reason stands in the request's own line.
 */
export function loggedFault(log: Log, error: unknown, request: FailedRequest): Fault {
  const fault = toFault(error);
  if (fault.status < 500 || logged.has(fault)) return fault;
  logged.add(fault);
  if (fault.code === "internal") {
    log.error({ err: fault.cause ?? fault, ...request }, "request failed");
    return fault;
  }
  const reason = fault.cause instanceof Error ? fault.cause.message : fault.message;
  const activity = currentActivity();
  if (activity) activity.reason = reason;
  else log.warn({ reason, ...request }, "request failed");
  return fault;
}
