import { z } from "zod";
import type { VoiceMessage } from "../provider/call.ts";
import { type CallbackRequest, each, type Notice, provider, type SendOutcome } from "../provider/channel.ts";
import { askForCall, callNotice, jsonRequest, linesFrom } from "./agent-call.ts";
import { callLimit } from "./limits.ts";
import { amountAt, equal, hexHmac, objectAt, objectIn, objectsAt, wordsAt } from "./signed.ts";

const secret = () => z.string().min(1).max(500);

const settings = z.strictObject({
  api_key: secret(),
  phone_number_id: secret(),
  /** Of the server credential: sent as X-Vapi-Secret or a bearer's token, or the key of an HMAC over the body. */
  webhook_secret: z.string().min(8).max(500),
  /** The server credential's id, where Vapi keeps the secret. */
  credential_id: secret().optional(),
  model_provider: z.string().min(1).max(100).default("openai"),
  model: z.string().min(1).max(100).default("gpt-4o"),
});
type Settings = z.output<typeof settings>;

/** Calls by an assistant of Vapi that is made for the call. */
export default provider({
  channel: "voice",
  name: "vapi",
  settings,
  repeatable: false,
  concurrency: () => 10,
  open: (given, { callbackUrl }) => ({
    send: (messages, options) => each(messages, options, (message) => transmit(given, callbackUrl, message)),
    close: async () => {},
  }),
  callbacks: { verify, parse },
});

async function transmit(
  given: Settings,
  url: string | undefined,
  message: VoiceMessage,
): Promise<SendOutcome> {
  const ready = callLimit(message, { callbackUrl: url, needsSender: false });
  if ("status" in ready) return ready;
  const { id, to, opening, prompt, voicemail, latest } = message;
  const { limit, callbackUrl } = ready;
  const server = given.credential_id
    ? { url: callbackUrl, credentialId: given.credential_id }
    : { url: callbackUrl, secret: given.webhook_secret };
  const assistant = {
    firstMessage: opening,
    firstMessageMode: "assistant-speaks-first",
    firstMessageInterruptionsEnabled: false,
    model: {
      provider: given.model_provider,
      model: given.model,
      messages: [{ role: "system", content: prompt }],
      tools: [{ type: "endCall" }],
    },
    voicemailDetection: { provider: "vapi" },
    ...(voicemail !== null && { voicemailMessage: voicemail }),
    maxDurationSeconds: Math.floor(limit),
    server,
    serverMessages: ["status-update", "end-of-call-report"],
  };
  const startBy = latest === null ? null : new Date(Date.parse(latest) - limit * 1000).toISOString();
  const body = {
    phoneNumberId: given.phone_number_id,
    customer: { number: to },
    assistant,
    metadata: { send_id: id },
    ...(startBy && { schedulePlan: { earliestAt: new Date().toISOString(), latestAt: startBy } }),
  };
  return askForCall(message, jsonRequest("https://api.vapi.ai/call", `Bearer ${given.api_key}`, body), "id");
}

/** By the secret in its header, as a bearer's token, or as the key of an HMAC: Vapi's credentials have all three forms. */
function verify({ webhook_secret }: Settings, { headers, body }: CallbackRequest): boolean {
  const signature = headers["x-vapi-signature"]?.replace(/^sha256=/, "");
  if (signature !== undefined) return equal(hexHmac(webhook_secret, body), signature.toLowerCase());
  const given = headers["x-vapi-secret"] ?? headers.authorization?.replace(/^Bearer /i, "") ?? "";
  return equal(webhook_secret, given);
}

const STATES: Readonly<Record<string, "ringing" | "answered">> = {
  ringing: "ringing",
  "in-progress": "answered",
};
const BUSY = /busy/;
const NO_ANSWER = /did-not-answer|no-answer/;
const FAILED = /error|failed|invalid|not-found|rejected/;

function parse(_: Settings, { body, at }: CallbackRequest): Notice[] {
  const message = objectAt(objectIn(body), "message");
  const call = objectAt(message, "call");
  const type = wordsAt(message.type);
  const status = wordsAt(message.status);
  const about = {
    callId: wordsAt(call.id),
    event: type === "status-update" ? status : type,
    sendId: wordsAt(objectAt(call, "metadata").send_id),
    at,
  };
  const state = STATES[status];
  if (type === "status-update") return state ? callNotice(about, { state }) : [];
  if (type !== "end-of-call-report") return [];
  const reason = wordsAt(message.endedReason);
  const said = objectsAt(objectAt(message, "artifact").messages).map((one) => ({
    role: wordsAt(one.role),
    text: wordsAt(one.message),
  }));
  const lines = linesFrom(said, { bot: "us", assistant: "us", user: "them" });
  const seconds = amountAt(message.durationSeconds);
  const cost = amountAt(message.cost);
  return callNotice(about, {
    state: "ended",
    result: BUSY.test(reason)
      ? "busy"
      : NO_ANSWER.test(reason)
        ? "no_answer"
        : lines.length === 0 && FAILED.test(reason)
          ? "failed"
          : "completed",
    ...(reason === "voicemail"
      ? { answeredBy: "machine" as const }
      : lines.length > 0 && { answeredBy: "human" as const }),
    ...(seconds !== undefined && { seconds: Math.round(seconds) }),
    ...(cost !== undefined && { cost, currency: "USD" }),
    lines,
  });
}
