import { z } from "zod";
import {
  type EmailMessage,
  each,
  provider,
  type SendOptions,
  type SendOutcome,
} from "../provider/channel.ts";
import { callApi, credential, textAt, trouble } from "../provider/vendor-api.ts";
import { flaw } from "./flaws.ts";
import { resendCallbacks } from "./resend-callbacks.ts";

const settings = z.strictObject({
  api_key: credential(512),
  /** The webhook's signing secret. Callbacks are accepted only with it. */
  webhook_secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]{16,}={0,2}$/, "must be the webhook's signing secret, whsec_…")
    .optional(),
});

/** Resend. It recognizes a repeated message by its Idempotency-Key, for 24 hours. */
export default provider({
  channel: "email",
  name: "resend",
  settings,
  repeatable: true,
  concurrency: () => 40,
  callbacks: resendCallbacks,
  open: ({ api_key }) => ({
    send: (messages, options) => each(messages, options, (message) => transmit(api_key, message, options)),
    close: async () => {},
  }),
});

async function transmit(
  key: string,
  message: EmailMessage,
  { signal, startBy = Number.POSITIVE_INFINITY }: Pick<SendOptions, "signal" | "startBy">,
): Promise<SendOutcome> {
  const refused = flaw(message);
  if (refused) return refused;
  const first = await attempt(key, message);
  // A repeat with the same key answers the outcome of the first request. It may also send the message, which then
  // needs a fresh compliance check.
  const isFresh = !signal.aborted && performance.now() <= startBy;
  return first.status === "unknown" && isFresh ? await attempt(key, message) : first;
}

async function attempt(key: string, message: EmailMessage): Promise<SendOutcome> {
  const reply = await callApi(
    new Request("https://api.resend.com/emails", {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": message.id,
      },
      body: JSON.stringify(compose(message)),
    }),
  );
  if (!("status" in reply)) return trouble(message, reply);
  if (reply.status === 200) {
    return { id: message.id, status: "sent", providerMessageId: textAt(reply.body, "id") || message.id };
  }
  const name = textAt(reply.body, "name");
  const outcome = trouble(message, reply, {
    code: name === "" ? "" : `resend_${name}`,
    message: textAt(reply.body, "message"),
    own: name !== "",
  });
  // The key belongs to a request that still runs, or to another text that Resend has taken.
  return reply.status === 409 ? { ...outcome, status: "unknown" } : outcome;
}

function compose(message: EmailMessage) {
  const { from, html, replyTo, headers } = message;
  return {
    from: named(from),
    to: [message.to],
    ...(replyTo !== undefined && { reply_to: replyTo }),
    subject: message.subject,
    text: message.text,
    ...(html !== undefined && { html }),
    headers,
    tags: [{ name: "send_id", value: message.id }],
  };
}

function named({ email, name }: EmailMessage["from"]): string {
  return name ? `"${name.replaceAll(/["\\]/g, "")}" <${email}>` : email;
}
