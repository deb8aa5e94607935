import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isUuid } from "#db/text.ts";
import { Fault, invalid, loggedFault, toFault } from "#runtime/faults.ts";
import { readIdempotencyKey } from "#runtime/funnel/idempotency.ts";
import { ANONYMOUS, authenticate } from "#runtime/identity/credentials.ts";
import type { Directory } from "#runtime/identity/directory.ts";
import type { Sessions } from "#runtime/identity/sessions.ts";
import { type Allowance, networkOf, type RateLimiter } from "#runtime/limits/rate-limit.ts";
import type { Log } from "#runtime/log.ts";
import type { Actor, Call } from "#runtime/operation/context.ts";
import { currentActivity } from "#runtime/telemetry/activity.ts";
import { CURRENT_VERSION, readVersion } from "#runtime/versions.ts";
import type { Frame } from "./answer.ts";

/** Requests a minute for a signed-in user. */
export const USER_LIMIT = 300;
/** Requests a minute for an address without a credential. */
export const ADDRESS_LIMIT = 600;
const REQUEST_ID = /^[\w.:-]{1,100}$/;

export interface AdmissionControl {
  limiter: RateLimiter;
  directory: Directory;
  sessions: Sessions;
  log: Log;
  metadataUrl: string;
  trustProxy: number;
}

/** The result of the checks of one request. */
export interface Admission {
  frame: Frame;
  actor: Actor;
  /** The reason to refuse the request. */
  fault: Fault | null;
}

/** Checks credential, rate limit and version of a request, and gives it an id. Never throws. */
export async function admit(control: AdmissionControl, incoming: IncomingMessage): Promise<Admission> {
  const { headers } = incoming;
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
  const address = `ip:${networkOf(addressOf(control, incoming) ?? "unknown")}`;
  const {
    actor,
    fault: refusal,
    allowance,
  } = await authenticateAndCount(control, incoming, address, requestId);
  const activity = currentActivity();
  if (activity) {
    // Another one is the caller's choice, and may name a person.
    if (isUuid(requestId)) activity.requestId = requestId;
    activity.actor = actor.id === null ? actor.type : `${actor.type} ${actor.id}`;
  }
  let fault = refusal;
  const frame: Frame = { requestId, version: CURRENT_VERSION, allowance, metadataUrl: control.metadataUrl };
  if (!allowance.allowed) {
    const seconds = Math.max(1, allowance.reset - Math.floor(control.directory.now() / 1000));
    return { frame, actor, fault: new Fault("rate_limited", { retryAfter: seconds }) };
  }
  try {
    // RFC 9112, section 3.2: a proxy before us may have routed by the other one.
    if (hasTwoHosts(incoming)) throw invalid("Host", "is given twice");
    const version = header(headers["api-version"]);
    if (version !== undefined) frame.version = readVersion(version);
  } catch (error) {
    fault ??= toFault(error);
  }
  return { frame, actor, fault };
}

/**
 * The actor and its allowance. A key that was never seen here is looked up at the cost of its address. A good key gets
 * that back, and so does a key whose look-up failed: guesses reach the database no more often than anonymous requests.
 * Behind one address, only keys that are new to this process wait together with the guesses.
 */
async function authenticateAndCount(
  control: AdmissionControl,
  incoming: IncomingMessage,
  address: string,
  requestId: string,
) {
  const { limiter } = control;
  const { headers } = incoming;
  const lookUp: { taken?: Allowance } = {};
  const giveBack = () => lookUp.taken && limiter.giveBack(address, lookUp.taken);
  const given = {
    apiKey: header(headers["x-api-key"]),
    authorization: headers.authorization && header(incoming.headersDistinct.authorization),
  };
  try {
    const actor = await authenticate(control.directory, control.sessions, given, () => {
      lookUp.taken = limiter.take(address, ADDRESS_LIMIT);
      if (!lookUp.taken.allowed) throw new Fault("rate_limited");
    });
    giveBack();
    // Anonymous requests wait for no database.
    if (actor.id === null) return { actor, fault: null, allowance: limiter.take(address, ADDRESS_LIMIT) };
    const limit = actor.type === "api_key" ? actor.rateLimit : USER_LIMIT;
    return { actor, fault: null, allowance: await limiter.takeShared(actor.id, limit) };
  } catch (error) {
    const actor: Actor = ANONYMOUS;
    const fault = loggedFault(control.log, error, { requestId });
    if (fault.code !== "unavailable") {
      return { actor, fault, allowance: lookUp.taken ?? limiter.take(address, ADDRESS_LIMIT) };
    }
    // The database did not say whose request this is, so it counts for nobody and nobody's allowance refuses it.
    giveBack();
    return { actor, fault, allowance: { ...limiter.peek(address, ADDRESS_LIMIT), allowed: true } };
  }
}

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** The call of an admitted request. */
export function callOf(
  control: AdmissionControl,
  incoming: IncomingMessage,
  { actor, frame }: Admission,
  transport: Call["transport"],
): Call {
  const { headers } = incoming;
  return {
    actor,
    transport,
    requestId: frame.requestId,
    propertyId: header(headers["x-property-id"]),
    ip: addressOf(control, incoming),
    userAgent: headers["user-agent"],
  };
}

/** The Idempotency-Key header, checked. */
export function idempotencyKey(incoming: IncomingMessage): string | undefined {
  const key = header(incoming.headers["idempotency-key"]);
  return key === undefined ? undefined : readIdempotencyKey(key);
}

/** The caller's address: the socket's, or the one that the outermost trusted proxy wrote into X-Forwarded-For. */
export function addressOf(
  { trustProxy }: Pick<AdmissionControl, "trustProxy">,
  incoming: IncomingMessage,
): string | undefined {
  const { remoteAddress } = incoming.socket;
  if (trustProxy === 0) return remoteAddress;
  const hops = (header(incoming.headers["x-forwarded-for"]) ?? "").split(",");
  // A shorter list did not come through the proxies, so it may be forged.
  const hop = hops.at(-trustProxy)?.trim() ?? "";
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1] ?? hop.replace(/^([\d.]+):\d+$/, "$1");
  return isIP(address) ? address : remoteAddress;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
