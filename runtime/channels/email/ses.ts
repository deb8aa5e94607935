import { AwsClient } from "aws4fetch";
import { z } from "zod";
import { type EmailMessage, each, provider, type SendOutcome } from "../provider/channel.ts";
import { callApi, credential, textAt, trouble } from "../provider/vendor-api.ts";
import { flaw } from "./flaws.ts";
import { sesCallbacks } from "./ses-callbacks.ts";

const settings = z.strictObject({
  region: z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/, "must be an AWS region, such as us-east-1"),
  access_key_id: credential(128),
  secret_access_key: credential(256),
  session_token: credential(4096).optional(),
  /** SES reports opens and clicks only where the call names a configuration set. */
  configuration_set: z.string().min(1).max(64).optional(),
  /** The SNS topic on which SES reports bounces and complaints. Callbacks are accepted only with it. */
  topic_arn: z
    .string()
    .regex(/^arn:aws(-[a-z]+)*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}$/, "must be the ARN of an SNS topic")
    .optional(),
});

type Settings = z.output<typeof settings>;

/** Amazon SES, API version 2. */
export default provider({
  channel: "email",
  name: "ses",
  settings,
  repeatable: false,
  concurrency: () => 40,
  callbacks: sesCallbacks,
  open: (given) => {
    const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token, region } = given;
    const aws = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(session_token !== undefined && { sessionToken: session_token }),
      service: "ses",
      region,
    });
    return {
      send: (messages, options) => each(messages, options, (message) => transmit(aws, given, message)),
      close: async () => {},
    };
  },
});

async function transmit(aws: AwsClient, given: Settings, message: EmailMessage): Promise<SendOutcome> {
  const refused = flaw(message);
  if (refused) return refused;
  const request = await aws.sign(`https://email.${given.region}.amazonaws.com/v2/email/outbound-emails`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(compose(message, given)),
  });
  const reply = await callApi(request);
  if ("status" in reply && reply.status === 200) {
    return {
      id: message.id,
      status: "sent",
      providerMessageId: textAt(reply.body, "MessageId") || message.id,
    };
  }
  return outcomeOf(message, reply);
}

// These errors concern the account and not the message, with any status.
const OF_THE_ACCOUNT = new Set([
  "AccountSuspendedException",
  "SendingPausedException",
  "MailFromDomainNotVerifiedException",
  "NotFoundException",
]);

function outcomeOf(message: EmailMessage, reply: Awaited<ReturnType<typeof callApi>>): SendOutcome {
  if (!("status" in reply)) return trouble(message, reply);
  const named = reply.headers.get("x-amzn-errortype") ?? textAt(reply.body, "__type");
  const code = named.split(":")[0]!.split("#").at(-1)!;
  const words = textAt(reply.body, "message") || textAt(reply.body, "Message");
  const outcome = trouble(message, reply, {
    code: code === "" ? "" : `ses_${code}`,
    message: words,
    own: code !== "",
  });
  if (reply.status >= 500 || outcome.status !== "failed") return outcome;
  const { id, message: text } = outcome;
  if (OF_THE_ACCOUNT.has(code) || /not verified/i.test(words)) {
    return { id, status: "retry", code: outcome.code, message: text, fatal: true };
  }
  // The account's own quota, answered as a 400.
  return code === "LimitExceededException"
    ? { id, status: "retry", code: outcome.code, message: text }
    : outcome;
}

function compose(message: EmailMessage, { configuration_set }: Settings) {
  const part = (text: string) => ({ Data: text, Charset: "UTF-8" });
  const { from, html, replyTo } = message;
  return {
    FromEmailAddress: from.name ? `${encodedName(from.name)} <${from.email}>` : from.email,
    Destination: { ToAddresses: [message.to] },
    ...(replyTo !== undefined && { ReplyToAddresses: [replyTo] }),
    Content: {
      Simple: {
        Subject: part(message.subject),
        Body: { Text: part(message.text), ...(html !== undefined && { Html: part(html) }) },
        Headers: Object.entries(message.headers).map(([Name, Value]) => ({ Name, Value })),
      },
    },
    ...(configuration_set !== undefined && { ConfigurationSetName: configuration_set }),
    EmailTags: [{ Name: "send_id", Value: message.id }],
  };
}

/** A display name as RFC 2047 words: SES takes only ASCII in an address. */
function encodedName(name: string): string {
  if (/^[\w .'-]*$/.test(name)) return `"${name}"`;
  // A word holds at most 75 characters, and splits no character: 10 code points are at most 40 bytes.
  const words = [...name].reduce<string[]>((parts, letter, index) => {
    if (index % 10 === 0) parts.push("");
    parts[parts.length - 1] += letter;
    return parts;
  }, []);
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString("base64")}?=`).join(" ");
}
