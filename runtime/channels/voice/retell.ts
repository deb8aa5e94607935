import { z } from "zod";
import type { CallbackRequest } from "../provider/channel.ts";
import { credential, isTaken } from "../provider/vendor-api.ts";
import { type AgentReport, agent, endOf, jsonRequest, linesFrom } from "./agent.ts";
import { amountAt, equal, hexHmac, type Json, objectAt, objectsAt, wordsAt } from "./signed.ts";

const TOLERANCE_MS = 300_000;

const settings = z.strictObject({
  /** It signs the callbacks too. */
  api_key: credential(),
  /** Its first message is {{opening}}, and its prompt {{instructions}}. */
  agent_id: z.string().min(1).max(200),
});
type Settings = z.output<typeof settings>;

const LANGUAGES = { en: "en-US", es: "es-419", fr: "fr-FR", de: "de-DE", zh: "zh-CN" } as const;

/** Calls by an agent of Retell. */
export default agent<Settings>({
  name: "retell",
  settings,
  needsSender: true,
  times: { shortest: 60 },
  place: ({ api_key, agent_id }, message, { limit, callbackUrl }) => {
    const { id, to, from, opening, prompt, voicemail, ringSeconds, script } = message;
    const body = {
      from_number: from,
      to_number: to,
      override_agent_id: agent_id,
      metadata: { send_id: id },
      retell_llm_dynamic_variables: { opening, instructions: prompt, voicemail: voicemail ?? "" },
      agent_override: {
        agent: {
          webhook_url: callbackUrl,
          webhook_events: ["call_started", "call_ended", "call_analyzed"],
          language: LANGUAGES[script.language],
          allow_user_dtmf: true,
          max_call_duration_ms: limit * 1000,
          ring_duration_ms: Math.ceil(ringSeconds) * 1000,
          voicemail_option: {
            action: voicemail === null ? { type: "hangup" } : { type: "static_text", text: voicemail },
          },
        },
        retell_llm: { begin_message: opening, start_speaker: "agent" },
      },
    };
    return jsonRequest("https://api.retellai.com/v2/create-phone-call", `Bearer ${api_key}`, body);
  },
  callId: "call_id",
  find: ({ api_key }, callId) =>
    jsonRequest(`https://api.retellai.com/v2/get-call/${encodeURIComponent(callId)}`, `Bearer ${api_key}`),
  end: ({ api_key }, callId) =>
    isTaken(
      jsonRequest(
        `https://api.retellai.com/v2/stop-call/${encodeURIComponent(callId)}`,
        `Bearer ${api_key}`,
        {},
      ),
    ),
  found: (call) => (ENDED.has(wordsAt(call.call_status)) ? ended(call, "call_read") : null),
  verify,
  told: (body) => {
    const event = wordsAt(body.event);
    const call = objectAt(body, "call");
    if (event === "call_started") return { ...aboutOf(call, event), news: { state: "answered" } };
    return event === "call_ended" || event === "call_analyzed" ? ended(call, event) : null;
  },
});

/** HMAC-SHA256 over the raw body and the time in milliseconds; five minutes old at most. */
function verify({ api_key }: Settings, { headers, body, at }: CallbackRequest): boolean {
  const [, time = "", digest = ""] =
    /^v=(\d{10,16}),d=([0-9a-f]{64})$/i.exec(headers["x-retell-signature"] ?? "") ?? [];
  if (time === "" || Math.abs(Number(time) - at) > TOLERANCE_MS) return false;
  return equal(hexHmac(api_key, body, time), digest.toLowerCase());
}

const ENDED = new Set(["ended", "not_connected", "error"]);

const RESULTS: Readonly<Record<string, "busy" | "no_answer" | "failed">> = {
  dial_busy: "busy",
  user_declined: "busy",
  dial_no_answer: "no_answer",
  dial_failed: "failed",
  invalid_destination: "failed",
  telephony_provider_permission_denied: "failed",
  telephony_provider_unavailable: "failed",
  sip_routing_error: "failed",
  marked_as_spam: "failed",
  scam_detected: "failed",
  no_valid_payment: "failed",
  concurrency_limit_reached: "failed",
  no_concurrency_fallback: "failed",
  registered_call_timeout: "failed",
  error_user_not_joined: "failed",
};

function aboutOf(call: Json, event: string): Omit<AgentReport, "news"> {
  return { callId: wordsAt(call.call_id), event, sendId: wordsAt(objectAt(call, "metadata").send_id) };
}

function ended(call: Json, event: string): AgentReport {
  const reason = wordsAt(call.disconnection_reason);
  const length = amountAt(call.duration_ms);
  const cents = amountAt(objectAt(call, "call_cost").combined_cost);
  return {
    ...aboutOf(call, event),
    news: endOf({
      result: RESULTS[reason] ?? "completed",
      isMachine: reason === "voicemail_reached" || objectAt(call, "call_analysis").in_voicemail === true,
      seconds: length && length / 1000,
      cost: cents && cents / 100,
      lines: linesOf(call),
    }),
  };
}

/** Pressed keys stand in the transcript with tool calls alone. */
function linesOf(call: Json) {
  const whole = objectsAt(call.transcript_with_tool_calls);
  const said = whole.length > 0 ? whole : objectsAt(call.transcript_object);
  return linesFrom(
    said.map((one) => {
      const [role, digit] = [wordsAt(one.role), wordsAt(one.digit)];
      return role === "dtmf"
        ? { role, text: `(pressed ${digit})`, keys: digit }
        : { role, text: wordsAt(one.content) };
    }),
    { agent: "us", user: "them", dtmf: "them" },
  );
}
