import { z } from "zod";
import type { VoiceMessage } from "../provider/call.ts";
import { type CallbackRequest, each, type Notice, provider, type SendOutcome } from "../provider/channel.ts";
import { askForCall, callNotice, jsonRequest, linesFrom } from "./agent-call.ts";
import { callLimit } from "./limits.ts";
import { amountAt, equal, hexHmac, objectAt, objectIn, objectsAt, wordsAt } from "./signed.ts";

const settings = z.strictObject({
  api_key: z.string().min(1).max(500),
  /** Of the account's webhook signing. */
  webhook_secret: z.string().min(8).max(500),
  voice: z.string().min(1).max(200).optional(),
});
type Settings = z.output<typeof settings>;

const LANGUAGES = { en: "en-US", es: "es-US", fr: "fr" } as const;

/** Calls by an agent of Bland. */
export default provider({
  channel: "voice",
  name: "bland",
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
  const { id, to, from, opening, prompt, voicemail, script } = message;
  const body = {
    phone_number: to,
    ...(from !== undefined && { from }),
    task: prompt,
    first_sentence: opening,
    wait_for_greeting: false,
    language: LANGUAGES[script.language],
    // Minutes, rounded down: the call must end within its limit.
    max_duration: Math.max(1, Math.floor(ready.limit / 60)),
    voicemail: voicemail === null ? { action: "hangup" } : { action: "leave_message", message: voicemail },
    answered_by_enabled: true,
    webhook: ready.callbackUrl,
    metadata: { send_id: id },
    ...(given.voice && { voice: given.voice }),
  };
  return askForCall(message, jsonRequest("https://api.bland.ai/v1/calls", given.api_key, body), "call_id");
}

/** HMAC-SHA256 over the raw body, as docs.bland.ai/tutorials/webhook-signing says. */
function verify({ webhook_secret }: Settings, { headers, body }: CallbackRequest): boolean {
  const signature = headers["x-webhook-signature"] ?? "";
  return signature !== "" && equal(hexHmac(webhook_secret, body), signature.toLowerCase());
}

const RESULTS: Readonly<Record<string, "busy" | "no_answer" | "failed">> = {
  busy: "busy",
  "no-answer": "no_answer",
  failed: "failed",
  canceled: "failed",
};

function parse(_: Settings, { body, at }: CallbackRequest): Notice[] {
  const call = objectIn(body);
  const status = wordsAt(call.status) || wordsAt(call.queue_status);
  const metadata = { ...objectAt(call, "variables", "metadata"), ...objectAt(call, "metadata") };
  const about = {
    callId: wordsAt(call.call_id),
    event: `ended:${status}`,
    sendId: wordsAt(metadata.send_id),
    at,
  };
  if (
    call.completed !== true &&
    RESULTS[status] === undefined &&
    status !== "completed" &&
    status !== "complete"
  )
    return [];
  const by = wordsAt(call.answered_by);
  const said = objectsAt(call.transcripts).map((one) => ({
    role: wordsAt(one.user),
    text: wordsAt(one.text),
  }));
  const lines = linesFrom(said, { assistant: "us", agent: "us", user: "them" });
  const minutes = amountAt(call.call_length);
  const cost = amountAt(call.price);
  return callNotice(about, {
    state: "ended",
    result: by === "no-answer" ? "no_answer" : (RESULTS[status] ?? "completed"),
    ...(by === "voicemail"
      ? { answeredBy: "machine" as const }
      : lines.length > 0 && { answeredBy: "human" as const }),
    ...(minutes !== undefined && { seconds: Math.round(minutes * 60) }),
    ...(cost !== undefined && { cost, currency: "USD" }),
    lines,
  });
}
