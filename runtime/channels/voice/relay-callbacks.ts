import { createHmac, createPublicKey, verify as verifySignature } from "node:crypto";
import type { RelayHandshake } from "../provider/call.ts";
import type { CallbackRequest, Notice, PlacedCall } from "../provider/channel.ts";
import { signedByTwilio } from "../sms/twilio-callbacks.ts";
import type { RelaySettings } from "./relay-settings.ts";
import { amountAt, equal, type Json, wordsAt } from "./signed.ts";

const TOLERANCE_MS = 300_000;
/** The bytes before the 32 of an Ed25519 key in DER. */
const ED25519_DER = Buffer.from("302a300506032b6570032100", "hex");

/** The secret part of a relay's address: it names one call, and opens it until `expires`, in seconds since 1970. */
export function relayToken(settings: RelaySettings, sendId: string, expires: number): string {
  const key = settings.carrier === "twilio" ? settings.auth_token : settings.api_key;
  const secret = createHmac("sha256", key).update(`relay|${sendId}|${expires}`).digest("base64url");
  return `${expires}.${secret}`;
}

/**
 * Whether the carrier opens the WebSocket: by the address's secret part, and by Twilio's signature of the address.
 * Telnyx documents no signature of the handshake; one that is there must be right.
 */
export function verifyRelay(settings: RelaySettings, handshake: RelayHandshake): boolean {
  const { url, headers, sendId, token, at } = handshake;
  const expires = Number(token.split(".")[0]);
  if (!equal(relayToken(settings, sendId, expires), token) || expires * 1000 < at) return false;
  if (settings.carrier === "twilio") {
    const request = { url, headers, body: Buffer.alloc(0), at };
    return [url, url.replace(/^http/, "ws")].some((one) =>
      signedByTwilio(settings, { ...request, url: one }),
    );
  }
  if (headers["telnyx-signature-ed25519"] === undefined) return true;
  return signedByTelnyx(settings.public_key, { url, headers, body: Buffer.alloc(0), at });
}

/** Whether the carrier sent the callback. */
export function verify(settings: RelaySettings, request: CallbackRequest): boolean {
  return settings.carrier === "twilio"
    ? signedByTwilio(settings, request)
    : signedByTelnyx(settings.public_key, request);
}

/** Ed25519 over the time and the raw body; five minutes old at most. */
function signedByTelnyx(publicKey: string, { headers, body, at }: CallbackRequest): boolean {
  const time = headers["telnyx-timestamp"] ?? "";
  const signature = Buffer.from(headers["telnyx-signature-ed25519"] ?? "", "base64");
  if (signature.length !== 64 || Math.abs(Number(time) * 1000 - at) > TOLERANCE_MS || !/^\d+$/.test(time))
    return false;
  try {
    const der = Buffer.concat([ED25519_DER, Buffer.from(publicKey, "base64")]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    return verifySignature(null, Buffer.concat([Buffer.from(`${time}|`), body]), key, signature);
  } catch {
    return false;
  }
}

const RESULTS: Readonly<Record<string, "completed" | "busy" | "no_answer" | "failed">> = {
  completed: "completed",
  busy: "busy",
  "no-answer": "no_answer",
  canceled: "failed",
  failed: "failed",
};

/** The news of a call in a verified request. Both carriers send the same form. */
export function parse(_: RelaySettings, { url, body, at: now }: CallbackRequest): Notice[] {
  const form = new URLSearchParams(body.toString("utf8"));
  const providerMessageId = form.get("CallSid") ?? "";
  const sendId = URL.parse(url)?.searchParams.get("send_id");
  if (providerMessageId === "") return [];
  const status = form.get("CallStatus") ?? "";
  const by = form.get("AnsweredBy") ?? "";
  const about = {
    kind: "call" as const,
    eventId: `${providerMessageId}:${status}:${by}`,
    at: new Date(now).toISOString(),
    providerMessageId,
    ...(sendId && { sendId }),
    ...(by.startsWith("machine") && { answeredBy: "machine" as const }),
  };
  const result = RESULTS[status];
  if (result) {
    const code = form.get("SipResponseCode");
    const seconds = Number(form.get("CallDuration") ?? Number.NaN);
    return [
      {
        ...about,
        state: "ended",
        result,
        ...(Number.isFinite(seconds) && { seconds: Math.max(0, Math.round(seconds)) }),
        ...(code && { code: `sip_${code}` }),
      },
    ];
  }
  if (status === "ringing") return [{ ...about, state: "ringing" }];
  if (status === "in-progress" || by !== "") return [{ ...about, state: "answered" }];
  return [];
}

/** The end of a call by the carrier's own record, whose form both carriers share; empty while it has not ended. */
export function foundCall(call: Json, { callId, sendId, at }: PlacedCall): Notice[] {
  const status = wordsAt(call.status);
  const result = RESULTS[status];
  if (!result) return [];
  const seconds = amountAt(Number(wordsAt(call.duration) || Number.NaN));
  // Twilio writes a charge below zero.
  const cost = amountAt(Math.abs(Number(wordsAt(call.price) || Number.NaN)));
  const currency = wordsAt(call.price_unit).toUpperCase();
  return [
    {
      kind: "call",
      eventId: `${callId}:${status}:read`,
      at: new Date(at).toISOString(),
      providerMessageId: callId,
      sendId,
      state: "ended",
      result,
      ...(wordsAt(call.answered_by).startsWith("machine") && { answeredBy: "machine" as const }),
      ...(seconds !== undefined && { seconds: Math.round(seconds) }),
      ...(cost !== undefined && /^[A-Z]{3}$/.test(currency) && { cost, currency }),
    },
  ];
}
