import { createPublicKey } from "node:crypto";
import { z } from "zod";
import { type EmailMessage, each, provider, type SendOutcome } from "../provider/channel.ts";
import { callApi, credential, textAt, trouble } from "../provider/vendor-api.ts";
import { flaw } from "./flaws.ts";
import { sendgridCallbacks } from "./sendgrid-callbacks.ts";

const settings = z.strictObject({
  api_key: credential(512),
  /** The event webhook's verification key. Callbacks are accepted only with it. */
  webhook_public_key: z
    .string()
    .max(1024)
    .refine(isPublicKey, "must be the event webhook's verification key, in base64")
    .optional(),
});

/** SendGrid, mail send version 3. */
export default provider({
  channel: "email",
  name: "sendgrid",
  settings,
  repeatable: false,
  concurrency: () => 40,
  callbacks: sendgridCallbacks,
  open: ({ api_key }) => ({
    send: (messages, options) => each(messages, options, (message) => transmit(api_key, message)),
    close: async () => {},
  }),
});

async function transmit(key: string, message: EmailMessage): Promise<SendOutcome> {
  const refused = flaw(message);
  if (refused) return refused;
  const reply = await callApi(
    new Request("https://api.sendgrid.com/v3/mail/send", {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(compose(message)),
    }),
  );
  if ("status" in reply && reply.status === 202) {
    const providerMessageId = reply.headers.get("x-message-id") ?? message.id;
    return { id: message.id, status: "sent", providerMessageId };
  }
  const words = "status" in reply ? textAt(reply.body, "errors", 0, "message") : "";
  return trouble(message, reply, { code: "", message: words, own: words !== "" });
}

function compose(message: EmailMessage) {
  const { from, to, toName, replyTo, html, headers } = message;
  return {
    personalizations: [
      {
        to: [{ email: to, ...(toName !== undefined && { name: toName }) }],
        custom_args: { send_id: message.id },
      },
    ],
    from,
    ...(replyTo !== undefined && { reply_to: { email: replyTo } }),
    subject: message.subject,
    content: [
      { type: "text/plain", value: message.text },
      ...(html !== undefined ? [{ type: "text/html", value: html }] : []),
    ],
    headers,
  };
}

function isPublicKey(text: string): boolean {
  try {
    return (
      createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" }).asymmetricKeyType ===
      "ec"
    );
  } catch {
    return false;
  }
}
