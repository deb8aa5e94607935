import { z } from "zod";
import { each, provider, type SendOutcome, type SmsMessage } from "../provider/channel.ts";
import { callApi, credential, textAt, trouble } from "../provider/vendor-api.ts";
import { parse, signedByTwilio } from "./twilio-callbacks.ts";

const settings = z.strictObject({
  account_sid: z.string().regex(/^AC[0-9a-f]{32}$/i, "must be an account's SID, AC and 32 hex digits"),
  auth_token: credential(200),
  /** The sender where neither the message nor the provider's record names one. */
  messaging_service_sid: z
    .string()
    .regex(/^MG[0-9a-f]{32}$/i, "must be a messaging service's SID, MG and 32 hex digits")
    .optional(),
});

export type TwilioSettings = z.output<typeof settings>;

/** The number has texted STOP to Twilio, which sends it nothing more. */
const OPTED_OUT = 21610;
/** Refused credentials, a closed account, or a sender of another account: no message will pass. */
const REFUSES_US = new Set([
  20003, 20005, 20006, 21212, 21603, 21606, 21609, 21659, 21660, 21703, 21704, 21705, 63038,
]);
/** Too many requests at once, or a full queue at Twilio. */
const BUSY = new Set([14107, 20429, 21611]);

/** Twilio's Messages API. */
export default provider({
  channel: "sms",
  name: "twilio",
  settings,
  // Twilio has no idempotency key: a second request is a second text.
  repeatable: false,
  concurrency: () => 40,
  open: (given, { callbackUrl }) => ({
    send: (messages, options) => each(messages, options, (message) => transmit(given, callbackUrl, message)),
    close: async () => {},
  }),
  callbacks: { verify: signedByTwilio, parse, answer: { contentType: "text/xml", body: "<Response/>" } },
});

async function transmit(
  given: TwilioSettings,
  callbackUrl: string | undefined,
  message: SmsMessage,
): Promise<SendOutcome> {
  const { id, to } = message;
  const reply = await callApi(requestFor(given, callbackUrl, message));
  if (!("status" in reply)) return trouble(message, reply);
  const sid = textAt(reply.body, "sid");
  if (reply.status < 300 && sid !== "") return { id, status: "sent", providerMessageId: sid };
  const code = codeOf(reply.body);
  const said = textAt(reply.body, "message") || `The provider answered ${reply.status}.`;
  const words = said.replaceAll(to, "<recipient>");
  const named = code === 0 ? `http_${reply.status}` : `twilio_${code}`;
  if (code === OPTED_OUT) return { id, status: "failed", code: "opted_out", message: words, optedOut: true };
  if (REFUSES_US.has(code)) return { id, status: "retry", code: named, message: words, fatal: true };
  const refusal = { code: named, message: words, own: code !== 0 };
  if (BUSY.has(code)) return trouble(message, { ...reply, status: 429 }, refusal);
  // Twilio also answers 403 for a single number, such as one in a country outside the account's permissions.
  if (reply.status === 403 && code !== 0) return { id, status: "failed", code: named, message: words };
  return trouble(message, reply, refusal);
}

function requestFor(
  { account_sid, auth_token, messaging_service_sid }: TwilioSettings,
  callbackUrl: string | undefined,
  { id, to, from, text }: SmsMessage,
): Request {
  const sender =
    from === undefined && messaging_service_sid !== undefined
      ? { MessagingServiceSid: messaging_service_sid }
      : { From: from ?? "" };
  // The callback identifies this send even where the request's own answer was lost.
  const callback = callbackUrl === undefined ? {} : { StatusCallback: `${callbackUrl}?send_id=${id}` };
  return new Request(`https://api.twilio.com/2010-04-01/Accounts/${account_sid}/Messages.json`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${account_sid}:${auth_token}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
    },
    body: new URLSearchParams({ To: to, ...sender, Body: text, ...callback }).toString(),
  });
}

function codeOf(body: unknown): number {
  const code = typeof body === "object" && body !== null && "code" in body ? body.code : 0;
  return typeof code === "number" ? code : 0;
}
