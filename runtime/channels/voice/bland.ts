import { z } from "zod";
import type { CallbackRequest } from "../provider/channel.ts";
import { credential, isTaken } from "../provider/vendor-api.ts";
import { type AgentReport, agent, endOf, jsonRequest, linesFrom } from "./agent.ts";
import { amountAt, equal, hexHmac, type Json, objectAt, objectsAt, wordsAt } from "./signed.ts";

const settings = z.strictObject({
  api_key: credential(),
  /** Of the account's webhook signing. */
  webhook_secret: z.string().min(8).max(500),
  voice: z.string().min(1).max(200).optional(),
});
type Settings = z.output<typeof settings>;

const LANGUAGES = { en: "en", es: "es", fr: "fr", de: "de", zh: "zh" } as const;

/** Calls by an agent of Bland. */
export default agent<Settings>({
  name: "bland",
  settings,
  needsSender: false,
  // Bland counts whole minutes, and takes no time of ringing.
  times: { shortest: 60, rings: 60 },
  place: ({ api_key, voice }, message, { limit, callbackUrl }) => {
    const { id, to, from, opening, prompt, voicemail, script } = message;
    const body = {
      phone_number: to,
      ...(from !== undefined && { from }),
      task: prompt,
      first_sentence: opening,
      wait_for_greeting: false,
      language: LANGUAGES[script.language],
      // Minutes, rounded down: the call must end within its limit.
      max_duration: Math.floor(limit / 60),
      voicemail: voicemail === null ? { action: "hangup" } : { action: "leave_message", message: voicemail },
      answered_by_enabled: true,
      record: false,
      webhook: callbackUrl,
      metadata: { send_id: id },
      ...(voice && { voice }),
    };
    return jsonRequest("https://api.bland.ai/v1/calls", api_key, body);
  },
  callId: "call_id",
  find: ({ api_key }, callId) =>
    jsonRequest(`https://api.bland.ai/v1/calls/${encodeURIComponent(callId)}`, api_key),
  end: ({ api_key }, callId) =>
    isTaken(jsonRequest(`https://api.bland.ai/v1/calls/${encodeURIComponent(callId)}/stop`, api_key, {})),
  found: ended,
  verify,
  told: ended,
});

/** HMAC-SHA256 over the raw body, as docs.bland.ai/tutorials/webhook-signing says. */
function verify({ webhook_secret }: Settings, { headers, body }: CallbackRequest): boolean {
  const signature = headers["x-webhook-signature"] ?? "";
  return signature !== "" && equal(hexHmac(webhook_secret, body), signature.toLowerCase());
}

const COMPLETED = new Set(["completed", "complete"]);
const RESULTS: Readonly<Record<string, "busy" | "no_answer" | "failed">> = {
  busy: "busy",
  "no-answer": "no_answer",
  failed: "failed",
  canceled: "failed",
};

/** A callback is the same record that the vendor answers. */
function ended(call: Json): AgentReport | null {
  const status = wordsAt(call.status) || wordsAt(call.queue_status);
  if (call.completed !== true && RESULTS[status] === undefined && !COMPLETED.has(status)) return null;
  const metadata = { ...objectAt(call, "variables", "metadata"), ...objectAt(call, "metadata") };
  const by = wordsAt(call.answered_by);
  const said = objectsAt(call.transcripts).map((one) => ({
    role: wordsAt(one.user),
    text: wordsAt(one.text),
  }));
  const minutes = amountAt(call.call_length);
  return {
    callId: wordsAt(call.call_id),
    sendId: wordsAt(metadata.send_id),
    event: `ended:${status}`,
    news: endOf({
      result: by === "no-answer" ? "no_answer" : (RESULTS[status] ?? "completed"),
      isMachine: by === "voicemail",
      seconds: minutes && minutes * 60,
      cost: amountAt(call.price),
      lines: linesFrom(said, { assistant: "us", agent: "us", robot: "us", user: "them" }),
    }),
  };
}
