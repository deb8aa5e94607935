import type { Callbacks, Notice } from "../provider/channel.ts";
import { timeAt } from "../provider/notices.ts";
import { textAt } from "../provider/vendor-api.ts";
import { confirmSns, readSns, verifySns } from "./sns.ts";

type Settings = { topic_arn?: string | undefined };
type About = Pick<Notice, "at" | "sendId" | "providerMessageId">;

/** SES reports by SNS: events of a configuration set, and the feedback notifications of an identity. */
export const sesCallbacks: Callbacks<Settings> = {
  async verify({ topic_arn }, { body }) {
    const message = readSns(body);
    return message !== null && topic_arn !== undefined && (await verifySns(message, topic_arn));
  },
  parse(_settings, { body, at: now }) {
    const message = readSns(body);
    if (message?.Type === "SubscriptionConfirmation" && message.SubscribeURL !== undefined) {
      const at = timeAt(message.Timestamp, now);
      return [{ kind: "subscription", eventId: message.MessageId, at, url: message.SubscribeURL }];
    }
    return message?.Type === "Notification" ? noticesIn(message.MessageId, message.Message, now) : [];
  },
  async confirm({ topic_arn }, url) {
    await confirmSns(url, topic_arn ?? "");
  },
};

function noticesIn(eventId: string, text: string, now: number): Notice[] {
  let event: unknown;
  try {
    event = JSON.parse(text);
  } catch {
    return [];
  }
  const kind = textAt(event, "eventType") || textAt(event, "notificationType");
  const read = Object.hasOwn(READERS, kind) ? READERS[kind] : undefined;
  const sendId = textAt(event, "mail", "tags", "send_id", 0);
  const about = {
    ...(sendId !== "" && { sendId }),
    providerMessageId: textAt(event, "mail", "messageId"),
  };
  return (read?.(event, now) ?? []).map((notice, index) => ({
    ...about,
    eventId: index === 0 ? eventId : `${eventId}:${index}`,
    ...notice,
  })) as Notice[];
}

type Read = (event: unknown, now: number) => (Omit<Notice, "eventId"> & Partial<About>)[];

const READERS: Record<string, Read> = {
  Delivery: (event, now) => [
    { kind: "delivered", at: timeAt(textAt(event, "delivery", "timestamp"), now), ...to(event) },
  ],
  Bounce: bounces,
  Complaint: (event, now) =>
    // The recipient has reported the message as no spam.
    textAt(event, "complaint", "complaintFeedbackType") === "not-spam"
      ? []
      : recipients(event, "complaint", "complainedRecipients").map((address) => ({
          kind: "complained" as const,
          at: timeAt(textAt(event, "complaint", "timestamp"), now),
          address,
          code: textAt(event, "complaint", "complaintFeedbackType") || "complaint",
        })),
  Reject: (event, now) => [
    {
      kind: "failed",
      at: timeAt("", now),
      code: "rejected",
      message: textAt(event, "reject", "reason"),
      ...to(event),
    },
  ],
  Open: (event, now) => [
    {
      kind: "opened",
      at: timeAt(textAt(event, "open", "timestamp"), now),
      userAgent: textAt(event, "open", "userAgent"),
    },
  ],
  Click: (event, now) => [
    {
      kind: "clicked",
      at: timeAt(textAt(event, "click", "timestamp"), now),
      userAgent: textAt(event, "click", "userAgent"),
    },
  ],
};

function bounces(event: unknown, now: number) {
  const type = textAt(event, "bounce", "bounceType");
  return listAt(event, "bounce", "bouncedRecipients").map((recipient) => {
    const status = textAt(recipient, "status");
    return {
      kind: "bounced" as const,
      at: timeAt(textAt(event, "bounce", "timestamp"), now),
      address: textAt(recipient, "emailAddress"),
      // 5.4.4: the domain does not exist, which SES calls transient.
      permanent: type === "Permanent" || status === "5.4.4",
      code: status || textAt(event, "bounce", "bounceSubType") || "bounce",
      message: textAt(recipient, "diagnosticCode"),
    };
  });
}

function to(event: unknown): { address?: string } {
  const address = textAt(event, "mail", "destination", 0);
  return address === "" ? {} : { address };
}

function recipients(event: unknown, ...path: string[]): string[] {
  return listAt(event, ...path).map((one) => textAt(one, "emailAddress"));
}

function listAt(value: unknown, ...path: string[]): unknown[] {
  const found = path.reduce<unknown>(
    (inner, name) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[name] : null,
    value,
  );
  return Array.isArray(found) ? found : [];
}
