import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Actor, Call } from "#runtime/context.ts";
import { ANONYMOUS, authenticate } from "#runtime/credentials.ts";
import type { Directory } from "#runtime/directory.ts";
import { toToldFault } from "#runtime/failures.ts";
import { Fault, invalid, toFault } from "#runtime/faults.ts";
import { readIdempotencyKey } from "#runtime/idempotency.ts";
import type { Log } from "#runtime/log.ts";
import type { Allowance } from "#runtime/rate-exchange.ts";
import { networkOf, type RateLimiter } from "#runtime/rate-limit.ts";
import type { Sessions } from "#runtime/sessions.ts";
import { CURRENT_VERSION, readVersion } from "#runtime/versions.ts";
import type { Frame } from "./answer.ts";

/** Requests a minute of a signed-in user. */
const USER_LIMIT = 300;
/** Requests a minute of an address without a credential. */
export const ADDRESS_LIMIT = 600;
const REQUEST_ID = /^[\w.:-]{1,100}$/;

export interface Gate {
  limiter: RateLimiter;
  directory: Directory;
  sessions: Sessions;
  log: Log;
  metadataUrl: string;
  trustProxy: number;
}

export interface Passage {
  frame: Frame;
  actor: Actor;
  /** Why the request goes no further. */
  fault: Fault | null;
}

/** Credential, rate limit, version and request id in one step. Never throws. */
export async function pass(gate: Gate, incoming: IncomingMessage): Promise<Passage> {
  const { headers } = incoming;
  const given = headers["x-request-id"];
  const requestId = typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
  const address = `ip:${networkOf(addressOf(gate, incoming) ?? "unknown")}`;
  const { actor, fault: refusal, allowance } = await admit(gate, incoming, address, requestId);
  let fault = refusal;
  const frame: Frame = { requestId, version: CURRENT_VERSION, allowance, metadataUrl: gate.metadataUrl };
  if (!allowance.allowed) {
    const seconds = Math.max(1, allowance.reset - Math.floor(gate.directory.now() / 1000));
    return { frame, actor, fault: new Fault("rate_limited", { retryAfter: seconds }) };
  }
  try {
    // RFC 9112, section 3.2: of two, a proxy before us may have believed the other one.
    if (hasTwoHosts(incoming)) throw invalid("Host", "is given twice");
    frame.version = readVersion(header(headers["api-version"]));
  } catch (error) {
    fault ??= toFault(error);
  }
  return { frame, actor, fault };
}

/**
 * Who it is, and what is left to them. A key that was never seen here is looked for at the cost of its address,
 * which a good one gets back, and so does one that the database says nothing of: guesses reach the database no more
 * often than strangers may ask. Of those behind one address, only keys that are new to this process have to wait with
 * whoever guesses.
 */
async function admit(gate: Gate, incoming: IncomingMessage, address: string, requestId: string) {
  const { headers } = incoming;
  let stranger: Allowance | null = null;
  let actor: Actor = ANONYMOUS;
  let fault: Fault | null = null;
  const given = {
    apiKey: header(headers["x-api-key"]),
    authorization: headers.authorization && header(incoming.headersDistinct.authorization),
  };
  try {
    actor = await authenticate(gate.directory, gate.sessions, given, () => {
      stranger = gate.limiter.take(address, ADDRESS_LIMIT);
      if (!stranger.allowed) throw new Fault("rate_limited");
    });
  } catch (error) {
    fault = toToldFault(gate.log, error, { requestId });
  }
  // Nobody can tell whose request this is: it is no guess, and nobody's allowance ends here.
  const isUntold = fault?.code === "unavailable";
  if (stranger && actor.type === "anonymous" && !isUntold)
    return { actor, fault, allowance: stranger as Allowance };
  if (stranger) gate.limiter.giveBack(address, stranger);
  if (isUntold)
    return { actor, fault, allowance: { ...gate.limiter.look(address, ADDRESS_LIMIT), allowed: true } };
  // What strangers ask waits for no database.
  if (actor.id === null) return { actor, fault, allowance: gate.limiter.take(address, ADDRESS_LIMIT) };
  const limit = actor.type === "api_key" ? actor.rateLimit : USER_LIMIT;
  return { actor, fault, allowance: await gate.limiter.claim(actor.id, limit) };
}

function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}

/** The call that a passed request makes. */
export function callOf(
  gate: Gate,
  incoming: IncomingMessage,
  passage: Passage,
  transport: Call["transport"],
): Call {
  const { headers } = incoming;
  return {
    actor: passage.actor,
    transport,
    requestId: passage.frame.requestId,
    propertyId: header(headers["x-property-id"]),
    ip: addressOf(gate, incoming),
    userAgent: headers["user-agent"],
  };
}

/** The Idempotency-Key header, checked. */
export function idempotencyKey(incoming: IncomingMessage): string | undefined {
  const key = header(incoming.headers["idempotency-key"]);
  return key === undefined ? undefined : readIdempotencyKey(key);
}

/** The caller's address: the socket's, or what as many proxies as are trusted have written of it. */
export function addressOf(
  { trustProxy }: Pick<Gate, "trustProxy">,
  incoming: IncomingMessage,
): string | undefined {
  const { remoteAddress } = incoming.socket;
  if (trustProxy === 0) return remoteAddress;
  const hops = (header(incoming.headers["x-forwarded-for"]) ?? "").split(",");
  // A list that is shorter came past the proxies, and anybody may have written it.
  const said = hops.at(-trustProxy)?.trim() ?? "";
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(said)?.[1] ?? said.replace(/^([\d.]+):\d+$/, "$1");
  return isIP(address) ? address : remoteAddress;
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(",") : value;
}
