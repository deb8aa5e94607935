import { createHmac, timingSafeEqual } from "node:crypto";
import type { CallbackRequest, Callbacks, Notice } from "../provider/channel.ts";
import { objectsIn, timeAt } from "../provider/notices.ts";
import { textAt } from "../provider/vendor-api.ts";

type Settings = { webhook_secret?: string | undefined };

const TOLERANCE_SECONDS = 300;

/** Resend's webhooks, which are Standard Webhooks under the names of Svix. */
export const resendCallbacks: Callbacks<Settings> = {
  verify({ webhook_secret }, request) {
    const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) => header(request, name));
    if (webhook_secret === undefined || !id || !signature || !/^\d{1,12}$/.test(timestamp ?? ""))
      return false;
    if (Math.abs(request.at / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
    const key = Buffer.from(webhook_secret.replace(/^whsec_/, ""), "base64");
    const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(request.body).digest();
    return signature.split(" ").some((one) => {
      const given = Buffer.from(one.startsWith("v1,") ? one.slice(3) : "", "base64");
      return given.length === expected.length && timingSafeEqual(given, expected);
    });
  },
  parse: (_settings, request) =>
    objectsIn(request.body).flatMap((event) => noticesOf(header(request, "id") ?? "", event, request.at)),
};

function header({ headers }: CallbackRequest, name: string): string | undefined {
  return headers[`svix-${name}`] ?? headers[`webhook-${name}`];
}

function noticesOf(eventId: string, event: Record<string, unknown>, now: number): Notice[] {
  const { data } = event;
  const sendId = textAt(data, "tags", "send_id") || tagIn(data);
  const facts = {
    eventId,
    at: timeAt(textAt(event, "created_at"), now),
    address: textAt(data, "to", 0),
    providerMessageId: textAt(data, "email_id"),
    ...(sendId !== "" && { sendId }),
  };
  switch (textAt(event, "type")) {
    case "email.delivered":
      return [{ ...facts, kind: "delivered" }];
    case "email.bounced": {
      const type = textAt(data, "bounce", "type");
      const permanent = type === "Permanent";
      const code = textAt(data, "bounce", "subType") || type || "bounce";
      return [{ ...facts, kind: "bounced", permanent, code, message: textAt(data, "bounce", "message") }];
    }
    case "email.complained":
      return [{ ...facts, kind: "complained", code: "complaint" }];
    case "email.failed":
      return [{ ...facts, kind: "failed", code: "failed", message: textAt(data, "failed", "reason") }];
    case "email.suppressed":
      return [
        { ...facts, kind: "failed", code: "suppressed", message: textAt(data, "suppressed", "message") },
      ];
    case "email.opened":
      return [{ ...facts, kind: "opened", ...agentIn(data, "open") }];
    case "email.clicked":
      return [{ ...facts, kind: "clicked", ...agentIn(data, "click") }];
    default:
      return [];
  }
}

function agentIn(data: unknown, name: string) {
  return { userAgent: textAt(data, name, "userAgent") };
}

/** The send's id in tags that come as they were sent: a list of names and values. */
function tagIn(data: unknown): string {
  const { tags } = (data ?? {}) as { tags?: unknown };
  if (!Array.isArray(tags)) return "";
  return textAt(
    tags.find((tag) => textAt(tag, "name") === "send_id"),
    "value",
  );
}
