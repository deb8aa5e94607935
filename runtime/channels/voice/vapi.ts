import { z } from "zod";
import type { CallbackRequest } from "../provider/channel.ts";
import { callApi, credential, isTaken, textAt } from "../provider/vendor-api.ts";
import { type AgentReport, agent, endOf, jsonRequest, linesFrom } from "./agent.ts";
import { amountAt, equal, hexHmac, type Json, objectAt, objectsAt, wordsAt } from "./signed.ts";

const settings = z.strictObject({
  api_key: credential(),
  phone_number_id: credential(),
  /** Of the server credential: sent as X-Vapi-Secret or a bearer's token, or the key of an HMAC over the body. */
  webhook_secret: z.string().min(8).max(500),
  /** The server credential's id, where Vapi keeps the secret. */
  credential_id: credential().optional(),
  model_provider: z.string().min(1).max(100).default("openai"),
  model: z.string().min(1).max(100).default("gpt-4o"),
});
type Settings = z.output<typeof settings>;

const LANGUAGES = { en: "en", es: "es", fr: "fr", de: "de", zh: "zh" } as const;

/** Vapi's own default is one voice for all languages. These are Azure's, which docs.vapi.ai names for multilingual calls. */
const VOICES = {
  en: "en-US-AriaNeural",
  es: "es-US-PalomaNeural",
  fr: "fr-FR-DeniseNeural",
  de: "de-DE-KatjaNeural",
  zh: "zh-CN-XiaoxiaoNeural",
} as const;

/** Calls by an assistant of Vapi that is made for the call. */
export default agent<Settings>({
  name: "vapi",
  settings,
  needsSender: false,
  // Vapi takes no time of ringing; the carriers behind it ring for a minute.
  times: { shortest: 10, rings: 60 },
  place: (given, message, { limit, callbackUrl }) => {
    const { id, to, opening, prompt, voicemail, latest, script } = message;
    const { api_key, webhook_secret, credential_id, model_provider, model, phone_number_id } = given;
    const server = credential_id
      ? { url: callbackUrl, credentialId: credential_id }
      : { url: callbackUrl, headers: { "X-Vapi-Secret": webhook_secret } };
    const assistant = {
      firstMessage: opening,
      firstMessageMode: "assistant-speaks-first",
      firstMessageInterruptionsEnabled: false,
      voice: { provider: "azure", voiceId: VOICES[script.language] },
      transcriber: { provider: "deepgram", model: "nova-2", language: LANGUAGES[script.language] },
      model: {
        provider: model_provider,
        model,
        messages: [{ role: "system", content: prompt }],
        tools: [{ type: "endCall" }],
      },
      // Otherwise a pressed key is not heard.
      keypadInputPlan: { enabled: true, timeoutSeconds: 1 },
      voicemailDetection: { provider: "vapi" },
      ...(voicemail !== null && { voicemailMessage: voicemail }),
      maxDurationSeconds: limit,
      // Vapi records every call by default, and nobody has agreed to that.
      artifactPlan: { recordingEnabled: false },
      // By its control a call is ended; nobody listens in.
      monitorPlan: { controlEnabled: true, listenEnabled: false },
      server,
      serverMessages: ["status-update", "end-of-call-report"],
      metadata: { send_id: id },
    };
    const startBy = latest === null ? null : new Date(Date.parse(latest) - limit * 1000).toISOString();
    const body = {
      // Vapi returns the name with each report: a call has no metadata of its own.
      name: id,
      phoneNumberId: phone_number_id,
      customer: { number: to },
      assistant,
      ...(startBy && { schedulePlan: { earliestAt: new Date().toISOString(), latestAt: startBy } }),
    };
    return jsonRequest("https://api.vapi.ai/call", `Bearer ${api_key}`, body);
  },
  callId: "id",
  find: ({ api_key }, callId) => callOf(api_key, callId),
  end: async ({ api_key }, callId) => {
    const reply = await callApi(callOf(api_key, callId));
    const address = "status" in reply ? textAt(reply.body, "monitor", "controlUrl") : "";
    return isVapis(address) && (await isTaken(control(address, { type: "end-call" })));
  },
  found: (call) => (wordsAt(call.status) === "ended" ? ended(call, call, "read") : null),
  verify,
  told: (body) => {
    const message = objectAt(body, "message");
    const call = objectAt(message, "call");
    const status = wordsAt(message.status);
    if (message.type === "end-of-call-report") return ended(call, message, "end-of-call-report");
    const state = message.type === "status-update" ? STATES[status] : undefined;
    return state ? { ...aboutOf(call, message, status), news: { state } } : null;
  },
});

const callOf = (apiKey: string, callId: string) =>
  jsonRequest(`https://api.vapi.ai/call/${encodeURIComponent(callId)}`, `Bearer ${apiKey}`);

/** The address of a call's control stands in Vapi's answer. It is a secret of the call, and takes no key. */
const isVapis = (address: string) => {
  const url = URL.parse(address);
  return url?.protocol === "https:" && url.hostname.endsWith(".vapi.ai") && !url.username && !url.password;
};

const control = (address: string, message: object) =>
  new Request(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(message),
  });

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
const BUSY = /customer-busy|486|600-busy/;
const NO_ANSWER = /did-not-answer|no-answer|408|480/;
const FAILED = /error|fail|invalid|not-found|reject|misdialed/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** `told` is the record of a call, or the report that holds it. */
function aboutOf(call: Json, told: Json, event: string): Omit<AgentReport, "news"> {
  const name = wordsAt(call.name);
  const marks = [call, told].map((one) => wordsAt(objectAt(one, "assistant", "metadata").send_id));
  const sendId = UUID.test(name) ? name : (marks.find((mark) => mark !== "") ?? "");
  return { callId: wordsAt(call.id), event, sendId };
}

function ended(call: Json, told: Json, event: string): AgentReport {
  const reason = wordsAt(told.endedReason);
  const said = objectsAt(objectAt(told, "artifact").messages).map((one) => ({
    role: wordsAt(one.role),
    text: wordsAt(one.message),
  }));
  const lines = linesFrom(said, { bot: "us", assistant: "us", user: "them" });
  return {
    ...aboutOf(call, told, event),
    news: endOf({
      result: resultOf(reason, lines.length > 0),
      isMachine: reason === "voicemail",
      seconds: amountAt(told.durationSeconds) ?? between(told.startedAt, told.endedAt),
      cost: amountAt(told.cost),
      lines,
    }),
  };
}

function resultOf(reason: string, wasHeard: boolean) {
  if (wasHeard) return "completed";
  if (BUSY.test(reason)) return "busy";
  if (NO_ANSWER.test(reason)) return "no_answer";
  return FAILED.test(reason) ? "failed" : "completed";
}

function between(start: unknown, end: unknown): number | undefined {
  return amountAt((Date.parse(wordsAt(end)) - Date.parse(wordsAt(start))) / 1000);
}
