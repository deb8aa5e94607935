import { createHmac } from "node:crypto";
import type { Outgoing, OutgoingRequest } from "#runtime/network/outgoing.ts";
import { type Received, webhookReceiver } from "../../../support/servers/receivers.ts";
import { MOODS, type Mood } from "./acts.ts";

/** A request to a receiver, and its result as the network gave it. */
export interface Posted {
  url: string;
  delivery: string;
  event: string;
  type: string;
  /** Null where no answer came, undefined while none has come yet. */
  status?: number | null;
}

/** The secrets that a receiver knows to be valid. */
export interface Secrets {
  secret: string;
  previous: string | null;
}

/**
 * A network that remembers each request. A request that hangs fails once the receiver has it, as after 15 s: the test
 * waits for no clock.
 */
export function openWire(network: Outgoing) {
  const posted: Posted[] = [];
  const arrived = new Map<string, () => void>();
  const moods = new Map<string, Mood>();
  const open = new Set<Promise<unknown>>();

  const hang = async (request: OutgoingRequest) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    arrived.set(request.headers["X-Service-Delivery"]!, resolve);
    network.post(request).catch(() => {});
    await promise;
    throw new DOMException("No complete answer within 15000 ms.", "TimeoutError");
  };
  const post = async (request: OutgoingRequest) => {
    const { "X-Service-Delivery": delivery, "X-Service-Event": type, "webhook-id": event } = request.headers;
    const one: Posted = { url: request.url, delivery: delivery!, event: event!, type: type! };
    posted.push(one);
    try {
      const answer = await (moods.get(request.url) === "hangs" ? hang(request) : network.post(request));
      one.status = answer.status;
      return answer;
    } catch (error) {
      one.status = null;
      throw error;
    }
  };

  return {
    posted,
    outgoing: {
      post: (request) => {
        const posting = post(request);
        open.add(posting);
        posting.catch(() => {}).finally(() => open.delete(posting));
        return posting;
      },
      close: network.close,
    } satisfies Outgoing,
    treat: (url: string, mood: Mood) => void moods.set(url, mood),
    moodOf: (url: string) => moods.get(url) ?? "ok",
    /** Resolves when no request is open. */
    quiet: async () => {
      while (open.size > 0) await Promise.allSettled(open);
    },
    /** A customer's server; each request is told to `hear`. */
    receiver: (hear: (request: Received) => void) =>
      webhookReceiver((request) => {
        hear(request);
        arrived.get(request.headers["x-service-delivery"] as string)?.();
        return MOODS[moods.get(`http://${request.headers.host}/hook`) ?? "ok"];
      }),
  };
}

/** The fault of a request's signatures, by both schemes. */
export function wrongSignature({ headers, raw }: Received, { secret, previous }: Secrets): string | null {
  const at = headers["x-service-timestamp"];
  const specified = (key: string) => `v1=${createHmac("sha256", key).update(`${at}.${raw}`).digest("hex")}`;
  const standard = (key: string) => {
    const bytes = Buffer.from(key.slice("whsec_".length), "base64");
    return `v1,${createHmac("sha256", bytes).update(`${headers["webhook-id"]}.${at}.${raw}`).digest("base64")}`;
  };
  const wanted = {
    "webhook-timestamp": at,
    "x-service-signature": specified(secret),
    "x-service-signature-previous": previous === null ? undefined : specified(previous),
    "webhook-signature": [secret, ...(previous === null ? [] : [previous])].map(standard).join(" "),
  };
  const wrong = Object.entries(wanted).find(([name, value]) => headers[name] !== value);
  if (wrong) return `${wrong[0]} is ${headers[wrong[0]]} and not ${wrong[1]}`;
  return Math.abs(Date.now() / 1000 - Number(at)) < 300 ? null : `it was signed at ${at}`;
}
