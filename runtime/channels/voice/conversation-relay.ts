import type { CallTimes, VoiceMessage } from "../provider/call.ts";
import { type CallReading, each, type PlacedCall, provider, type SendOutcome } from "../provider/channel.ts";
import { callApi, isTaken, textAt, trouble } from "../provider/vendor-api.ts";
import { jsonRequest } from "./agent.ts";
import { callLimit } from "./limits.ts";
import { readCall } from "./reading.ts";
import { foundCall, parse, relayToken, verify, verifyRelay } from "./relay-callbacks.ts";
import { type RelaySettings, settings } from "./relay-settings.ts";

/** Refused credentials, a closed account, or a number of another account: no call will pass. */
const REFUSES_US = new Set([20003, 20005, 20006, 21210, 21212, 21213, 21606]);
const BUSY = new Set([14107, 20429]);
const LANGUAGES = { en: "en-US", es: "es-US", fr: "fr-FR", de: "de-DE", zh: "zh-CN" } as const;
/** Telnyx takes no shorter limit. */
const TIMES: CallTimes = { shortest: 30 };

/** Calls by Twilio or Telnyx, whose ConversationRelay speaks and hears for our own script over a WebSocket. */
export default provider({
  channel: "voice",
  name: "conversation-relay",
  settings,
  // A second request is a second call.
  repeatable: false,
  concurrency: () => 20,
  callTimes: TIMES,
  open: (given, { callbackUrl }) => ({
    send: (messages, options) => each(messages, options, (message) => transmit(given, callbackUrl, message)),
    close: async () => {},
  }),
  callbacks: {
    verify,
    parse,
    verifyRelay,
    read: (given, call) => readPlaced(given, call),
    end: (given, call) => endPlaced(given, call),
    answer: { contentType: "text/xml", body: "<Response/>" },
  },
});

async function transmit(
  given: RelaySettings,
  callbackUrl: string | undefined,
  message: VoiceMessage,
): Promise<SendOutcome> {
  const { id } = message;
  const ready = callLimit(message, { callbackUrl, needsSender: true, times: TIMES });
  if ("status" in ready) return ready;
  const request = given.carrier === "twilio" ? twilioRequest : telnyxRequest;
  const reply = await callApi(request(given as never, { ...ready, message }));
  if (!("status" in reply)) return trouble(message, reply);
  const sid =
    textAt(reply.body, "sid") || textAt(reply.body, "call_sid") || textAt(reply.body, "data", "call_sid");
  // A gateway's page is no answer of the carrier.
  if (reply.status < 300 && reply.body !== null)
    return { id, status: "sent", providerMessageId: sid || withoutSid(given, id) };
  const code = numberAt(reply.body, "code");
  const words = (textAt(reply.body, "message") || `The provider answered ${reply.status}.`).replaceAll(
    message.to,
    "<recipient>",
  );
  const named = code === 0 ? `http_${reply.status}` : `${given.carrier}_${code}`;
  if (REFUSES_US.has(code)) return { id, status: "retry", code: named, message: words, fatal: true };
  const refusal = { code: named, message: words, own: code !== 0 };
  if (BUSY.has(code)) return trouble(message, { ...reply, status: 429 }, refusal);
  return trouble(message, reply, refusal);
}

/** Stands for the id of a call whose carrier named none. */
function withoutSid({ carrier }: RelaySettings, sendId: string): string {
  return `${carrier}:${sendId}`;
}

async function readPlaced(given: RelaySettings, { callId, sendId, at }: PlacedCall): Promise<CallReading> {
  if (callId === withoutSid(given, sendId)) return { state: "no_such_call" };
  return readCall(aboutCall(given, callId), (found) => foundCall(found, { callId, sendId, at }));
}

async function endPlaced(
  given: RelaySettings,
  { callId, sendId }: Pick<PlacedCall, "callId" | "sendId">,
): Promise<boolean> {
  return callId !== withoutSid(given, sendId) && isTaken(aboutCall(given, callId, { Status: "completed" }));
}

/** The request for a call's record, or for these changes of it, which both carriers take as a form. */
function aboutCall(given: RelaySettings, callId: string, changes?: Record<string, string>): Request {
  const { account_sid } = given;
  const call = encodeURIComponent(callId);
  const [address, authorization] =
    given.carrier === "twilio"
      ? [`https://api.twilio.com/2010-04-01/Accounts/${account_sid}/Calls/${call}.json`, basic(given)]
      : [
          `https://api.telnyx.com/v2/texml/Accounts/${encodeURIComponent(account_sid)}/Calls/${call}`,
          `Bearer ${given.api_key}`,
        ];
  const body = changes && { method: "POST", body: new URLSearchParams(changes) };
  return new Request(address, { headers: { authorization }, ...body });
}

function basic({ account_sid, auth_token }: { account_sid: string; auth_token: string }): string {
  return `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString("base64")}`;
}

interface Call {
  callbackUrl: string;
  message: VoiceMessage;
  limit: number;
}

/** A carrier may queue a call for some minutes. */
const QUEUED_SECONDS = 600;

function instructions(given: RelaySettings, { callbackUrl, message }: Call): string {
  const { ringSeconds, mostSeconds } = message;
  const expires = Math.ceil(Date.now() / 1000 + ringSeconds + mostSeconds + QUEUED_SECONDS);
  const address = `${callbackUrl.replace(/^http/, "ws")}/${message.id}/${relayToken(given, message.id, expires)}`;
  const { language } = message.script;
  // At Telnyx we hear the person's words while we speak only if they may stop us.
  const attributes =
    given.carrier === "twilio"
      ? `language="${LANGUAGES[language]}" interruptible="none" preemptible="false" reportInputDuringAgentSpeech="any"`
      : `language="${language}" interruptible="any"`;
  return `<?xml version="1.0" encoding="UTF-8"?><Response><Connect><ConversationRelay url="${address}" ${attributes} dtmfDetection="true"/></Connect></Response>`;
}

function twilioRequest(given: Extract<RelaySettings, { carrier: "twilio" }>, call: Call): Request {
  const { callbackUrl, message, limit } = call;
  const news = `${callbackUrl}?send_id=${message.id}`;
  const form = new URLSearchParams({
    To: message.to,
    From: message.from!,
    Twiml: instructions(given, call),
    Timeout: String(Math.ceil(message.ringSeconds)),
    TimeLimit: String(limit),
    MachineDetection: "Enable",
    AsyncAmd: "true",
    AsyncAmdStatusCallback: news,
    StatusCallback: news,
  });
  for (const event of ["ringing", "answered", "completed"]) form.append("StatusCallbackEvent", event);
  return new Request(`https://api.twilio.com/2010-04-01/Accounts/${given.account_sid}/Calls.json`, {
    method: "POST",
    headers: {
      authorization: basic(given),
      "content-type": "application/x-www-form-urlencoded",
    },
    body: form.toString(),
  });
}

function telnyxRequest(given: Extract<RelaySettings, { carrier: "telnyx" }>, call: Call): Request {
  const { callbackUrl, message, limit } = call;
  const news = `${callbackUrl}?send_id=${message.id}`;
  return jsonRequest(
    `https://api.telnyx.com/v2/texml/Accounts/${encodeURIComponent(given.account_sid)}/Calls`,
    `Bearer ${given.api_key}`,
    {
      ApplicationSid: given.application_id,
      To: message.to,
      From: message.from,
      Texml: instructions(given, call),
      Timeout: Math.ceil(message.ringSeconds),
      TimeLimit: limit,
      MachineDetection: "Enable",
      AsyncAmd: true,
      AsyncAmdStatusCallback: news,
      StatusCallback: news,
      StatusCallbackEvent: "ringing answered completed",
    },
  );
}

function numberAt(body: unknown, name: string): number {
  const value = typeof body === "object" && body !== null ? (body as Record<string, unknown>)[name] : 0;
  return typeof value === "number" ? value : 0;
}
