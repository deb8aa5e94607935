import { z } from "zod";
import type { VoiceMessage } from "../provider/call.ts";
import { type CallbackRequest, each, type Notice, provider, type SendOutcome } from "../provider/channel.ts";
import { askForCall, callNotice, jsonRequest, linesFrom } from "./agent-call.ts";
import { callLimit } from "./limits.ts";
import { amountAt, equal, hexHmac, objectAt, objectIn, objectsAt, wordsAt } from "./signed.ts";

const TOLERANCE_MS = 300_000;

const settings = z.strictObject({
  /** It signs the callbacks too. */
  api_key: z.string().min(1).max(500),
  /** Its first message is {{opening}}, and its prompt {{instructions}}. */
  agent_id: z.string().min(1).max(200),
});
type Settings = z.output<typeof settings>;

/** Calls by an agent of Retell. */
export default provider({
  channel: "voice",
  name: "retell",
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
  const ready = callLimit(message, { callbackUrl: url, needsSender: true });
  if ("status" in ready) return ready;
  const { id, to, from, opening, prompt, voicemail, ringSeconds } = message;
  const body = {
    from_number: from,
    to_number: to,
    override_agent_id: given.agent_id,
    metadata: { send_id: id },
    retell_llm_dynamic_variables: { opening, instructions: prompt, voicemail: voicemail ?? "" },
    agent_override: {
      agent: {
        webhook_url: ready.callbackUrl,
        max_call_duration_ms: Math.max(60, Math.floor(ready.limit)) * 1000,
        ring_duration_ms: Math.ceil(ringSeconds) * 1000,
        voicemail_option: {
          action: voicemail === null ? { type: "hangup" } : { type: "static_text", text: voicemail },
        },
      },
      retell_llm: { begin_message: opening, start_speaker: "agent" },
    },
  };
  const request = jsonRequest(
    "https://api.retellai.com/v2/create-phone-call",
    `Bearer ${given.api_key}`,
    body,
  );
  return askForCall(message, request, "call_id");
}

/** HMAC-SHA256 over the raw body and the time in milliseconds; five minutes old at most. */
function verify({ api_key }: Settings, { headers, body, at }: CallbackRequest): boolean {
  const [, time = "", digest = ""] =
    /^v=(\d{10,16}),d=([0-9a-f]{64})$/i.exec(headers["x-retell-signature"] ?? "") ?? [];
  if (time === "" || Math.abs(Number(time) - at) > TOLERANCE_MS) return false;
  return equal(hexHmac(api_key, body, time), digest.toLowerCase());
}

const RESULTS: Readonly<Record<string, "busy" | "no_answer" | "failed">> = {
  dial_busy: "busy",
  dial_no_answer: "no_answer",
  dial_failed: "failed",
  invalid_destination: "failed",
  telephony_provider_permission_denied: "failed",
  telephony_provider_unavailable: "failed",
  no_valid_payment: "failed",
  concurrency_limit_reached: "failed",
};

function parse(_: Settings, { body, at }: CallbackRequest): Notice[] {
  const given = objectIn(body);
  const call = objectAt(given, "call");
  const event = wordsAt(given.event);
  const about = {
    callId: wordsAt(call.call_id),
    event,
    sendId: wordsAt(objectAt(call, "metadata").send_id),
    at,
  };
  if (event === "call_started") return callNotice(about, { state: "answered" });
  if (event !== "call_ended" && event !== "call_analyzed") return [];
  const reason = wordsAt(call.disconnection_reason);
  const said = objectsAt(call.transcript_object).map((one) => ({
    role: wordsAt(one.role),
    text: wordsAt(one.content),
  }));
  const lines = linesFrom(said, { agent: "us", user: "them" });
  const length = amountAt(call.duration_ms);
  const cents = amountAt(objectAt(call, "call_cost").combined_cost);
  const isMachine = reason === "voicemail_reached" || objectAt(call, "call_analysis").in_voicemail === true;
  return callNotice(about, {
    state: "ended",
    result: RESULTS[reason] ?? "completed",
    ...(isMachine
      ? { answeredBy: "machine" as const }
      : lines.length > 0 && { answeredBy: "human" as const }),
    ...(length !== undefined && { seconds: Math.round(length / 1000) }),
    ...(cents !== undefined && { cost: cents / 100, currency: "USD" }),
    lines,
  });
}
