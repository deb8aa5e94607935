import webpush from "web-push";
import { z } from "zod";
import { type Outgoing, type OutgoingAnswer, outgoing } from "#runtime/network/outgoing.ts";
import { AddressRefused, refuseHost } from "#runtime/network/public-address.ts";
import { readRetryAfter } from "#runtime/network/retry-after.ts";
import {
  type DeviceResult,
  each,
  type PushDevice,
  type PushKeys,
  type PushMessage,
  provider,
  type SendOutcome,
} from "../provider/channel.ts";
import { isNotConnected } from "../provider/vendor-api.ts";
import { payloadOf } from "./notification.ts";

const MOST_RETRY_AFTER = 86_400;
/** From this number of refusals on, in a batch that reached nobody, our settings are at fault. */
const REFUSALS_OF_US = 5;
const REFUSES_US = "provider_auth";

const settings = z.strictObject({
  subject: z
    .string()
    .max(500)
    .refine(
      isReachable,
      "must be mailto: and an address, or an https page, of a real domain: push services write there",
    ),
});

/** Web push to the browsers' own push services (RFC 8030, 8291 and 8292). */
export default provider({
  channel: "push",
  name: "webpush",
  settings,
  // A push service knows no message again.
  repeatable: false,
  concurrency: () => 100,
  open: ({ subject }, { allowPrivate, pushKeys = [] }) => {
    const network = outgoing({ allowPrivate, allowHttp: allowPrivate });
    const sender = { network, subject, keys: pushKeys };
    return {
      send: async (messages, options) =>
        judgedTogether(await each(messages, options, (message) => transmit(sender, message))),
      close: () => network.close(),
    };
  },
});

/** Apple's push service refuses every message whose subject is no reachable contact. */
function isReachable(subject: string): boolean {
  const mail = /^mailto:[^@\s]+@([^@\s]+)$/i.exec(subject);
  const url = URL.parse(subject);
  const host = mail ? mail[1]! : url?.protocol === "https:" ? url.hostname : "";
  return (
    host !== "" && refuseHost(host) === null && /\.(?!(?:test|example|invalid)$)[a-z][a-z0-9-]+$/i.test(host)
  );
}

interface Sending {
  network: Outgoing;
  subject: string;
  keys: readonly PushKeys[];
}

/** The answer of one browser's push service. */
interface Answer {
  device: string;
  is: DeviceResult["is"] | "unknown" | "failing" | "refused";
  code: string;
  message: string;
  retryAfter?: number;
}

/** Sends to every browser of the player. The message is sent when any of them takes it. */
async function transmit(sending: Sending, message: PushMessage): Promise<SendOutcome> {
  const { id, devices } = message;
  const answers = await Promise.all(devices.map((device) => post(sending, message, device)));
  const results = answers.flatMap(({ device, is }) =>
    is === "reached" || is === "gone" || is === "bad_keys" ? [{ id: device, is }] : [],
  );
  return { ...outcomeOf(id, answers), ...(results.length > 0 && { devices: results }) };
}

/** One answer decides for the message: the first of these that any browser's push service gave. */
const DECIDING = ["reached", "unknown", "failing", "refused", "bad_keys", "gone"] as const;

function outcomeOf(id: string, answers: readonly Answer[]): SendOutcome {
  const is = DECIDING.find((one) => answers.some((answer) => answer.is === one));
  const answer = answers.find((one) => one.is === is);
  if (!answer)
    return { id, status: "failed", code: "no_subscription", message: "The player has no subscription." };
  const { code, message } = answer;
  if (is === "reached") return { id, status: "sent", providerMessageId: message };
  if (is === "unknown") return { id, status: "unknown", code, message };
  if (is !== "failing") return { id, status: "failed", code, message };
  const waits = answers.flatMap(({ retryAfter }) => retryAfter ?? []);
  return { id, status: "retry", code, message, ...(waits.length > 0 && { retryAfter: Math.max(...waits) }) };
}

/**
 * A player chooses the address of their subscription, so one refusal, rest or silence says nothing about the others. Our
 * settings are at fault only when many refuse us and none takes a message.
 */
function judgedTogether(outcomes: SendOutcome[]): SendOutcome[] {
  const refused = outcomes.filter((one) => one.status === "failed" && one.code === REFUSES_US);
  const isReached = outcomes.some(({ status }) => status === "sent");
  if (isReached || refused.length < REFUSALS_OF_US) return outcomes;
  return outcomes.map((one) =>
    one.status === "failed" && one.code === REFUSES_US ? { ...one, status: "retry", fatal: true } : one,
  );
}

async function post(
  { network, subject, keys }: Sending,
  message: PushMessage,
  device: PushDevice,
): Promise<Answer> {
  const about = { device: device.id };
  const pair = keys.find(({ publicKey }) => publicKey === device.key);
  // The keys were rotated since this provider was opened: the next try has the new ones.
  if (!pair)
    return { ...about, is: "failing", code: "other_key", message: "The subscription has another push key." };
  const request = requestOf(message, device, { subject, ...pair });
  if (!request) {
    return { ...about, is: "bad_keys", code: "bad_keys", message: "The subscription's keys cannot encrypt." };
  }
  try {
    return { ...about, ...judged(await network.post(request)) };
  } catch (error) {
    return { ...about, ...unanswered(error) };
  }
}

function requestOf(
  message: PushMessage,
  { endpoint, p256dh, auth }: PushDevice,
  vapidDetails: PushKeys & { subject: string },
) {
  try {
    const { headers, body } = webpush.generateRequestDetails(
      { endpoint, keys: { p256dh, auth } },
      payloadOf(message),
      {
        vapidDetails,
        TTL: message.ttl,
        urgency: "normal",
        topic: message.topic,
        contentEncoding: "aes128gcm",
      },
    );
    return { url: endpoint, headers: withoutLength(headers), body: body! };
  } catch {
    return null;
  }
}

/** The HTTP client writes Content-Length by itself. */
function withoutLength({
  "Content-Length": _,
  ...headers
}: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** A push service's answer in our words (RFC 8030, and the services' own pages). */
function judged({ status, headers, snippet }: OutgoingAnswer): Omit<Answer, "device"> {
  const code = `http_${status}`;
  const message = `The push service answered ${status}${snippet.trim() === "" ? "" : `: ${snippet.trim()}`}`;
  if (status >= 200 && status < 300) return { is: "reached", code, message: headers.location || "webpush" };
  if (status === 404 || status === 410) return { is: "gone", code: "subscription_gone", message };
  if (status === 413) return { is: "refused", code: "too_large", message };
  if (status === 429) {
    const seconds = readRetryAfter(headers["retry-after"] ?? null, Date.now());
    const retryAfter =
      seconds === null ? {} : { retryAfter: Math.min(Math.max(seconds, 1), MOST_RETRY_AFTER) };
    return { is: "failing", code, message, ...retryAfter };
  }
  if (status === 400 || status === 401 || status === 403) return { is: "refused", code: REFUSES_US, message };
  return { is: status >= 500 ? "failing" : "refused", code, message };
}

/** A push service that was reached may have the message, also where it gave no answer. */
function unanswered(error: unknown): Omit<Answer, "device"> {
  const { message } = error instanceof Error ? error : new Error(String(error));
  const refusal = [error, error instanceof Error ? error.cause : null].find(
    (one) => one instanceof AddressRefused,
  );
  if (refusal) return { is: "refused", code: "address_refused", message: refusal.message };
  if (isNotConnected(error)) return { is: "failing", code: "not_connected", message };
  return { is: "unknown", code: "no_answer", message };
}
