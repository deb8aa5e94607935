import { createPublicKey, createVerify, hash } from "node:crypto";
import type { Callbacks, Notice } from "../provider/channel.ts";
import { objectsIn, timeAt } from "../provider/notices.ts";
import { textAt } from "../provider/vendor-api.ts";

type Settings = { webhook_public_key?: string | undefined };

const SIGNATURE = "x-twilio-email-event-webhook-signature";
const TIMESTAMP = "x-twilio-email-event-webhook-timestamp";

/** SendGrid's event webhook: ECDSA over the timestamp and the raw body, and several events in one request. */
export const sendgridCallbacks: Callbacks<Settings> = {
  verify({ webhook_public_key }, { headers, body }) {
    const signature = headers[SIGNATURE];
    const timestamp = headers[TIMESTAMP];
    if (webhook_public_key === undefined || signature === undefined || timestamp === undefined) return false;
    const key = createPublicKey({
      key: Buffer.from(webhook_public_key, "base64"),
      format: "der",
      type: "spki",
    });
    return createVerify("sha256").update(timestamp).update(body).verify(key, signature, "base64");
  },
  parse: (_settings, { body, at }) => objectsIn(body).flatMap((event) => noticesOf(event, at)),
};

function noticesOf(event: Record<string, unknown>, now: number): Notice[] {
  const sendId = textAt(event, "send_id");
  // `<X-Message-Id>.<where it went>`
  const providerMessageId = textAt(event, "sg_message_id").split(".")[0]!;
  const eventId = textAt(event, "sg_event_id") || hash("sha256", JSON.stringify(event), "hex");
  const reason = textAt(event, "reason");
  const status = textAt(event, "status");
  const facts = {
    eventId,
    at: timeAt(typeof event.timestamp === "number" ? event.timestamp : "", now),
    address: textAt(event, "email"),
    providerMessageId,
    ...(sendId !== "" && { sendId }),
  };
  switch (textAt(event, "event")) {
    case "delivered":
      return [{ ...facts, kind: "delivered" }];
    case "bounce": {
      // A block concerns the sender or the moment, not the address.
      const permanent = textAt(event, "type") !== "blocked" && !status.startsWith("4");
      return [{ ...facts, kind: "bounced", permanent, code: status || "bounce", message: reason }];
    }
    case "dropped":
      return dropped(facts, reason);
    case "spamreport":
      return [{ ...facts, kind: "complained", code: "spamreport" }];
    case "unsubscribe":
    case "group_unsubscribe":
      return [{ ...facts, kind: "unsubscribed" }];
    case "open":
    case "click":
      return [
        {
          ...facts,
          kind: event.event === "open" ? "opened" : "clicked",
          userAgent: event.sg_machine_open === true ? "" : textAt(event, "useragent"),
        },
      ];
    default:
      return [];
  }
}

/** The notices about a message that SendGrid dropped without an attempt, and about its address. */
function dropped(facts: Omit<Notice, "kind">, reason: string): Notice[] {
  const failed: Notice = { ...facts, kind: "failed", code: "dropped", message: reason };
  const more = { ...facts, eventId: `${facts.eventId}:list`, code: "dropped", message: reason };
  if (/bounced address/i.test(reason)) return [{ ...more, kind: "bounced", permanent: true }];
  if (/spam reporting/i.test(reason)) return [failed, { ...more, kind: "complained" }];
  if (/unsubscribed address/i.test(reason)) return [failed, { ...more, kind: "unsubscribed" }];
  return [failed];
}
