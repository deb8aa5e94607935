import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { CallbackRequest, Notice } from "../provider/channel.ts";

/** The setting that verifies signatures. */
interface Signing {
  auth_token: string;
}

/**
 * Whether Twilio signed the request: HMAC-SHA1 of the address and, for a form, its sorted fields. For a JSON body the
 * address carries its SHA-256. Twilio signs the address with or without its port, so both are tried.
 */
export function signedByTwilio({ auth_token }: Signing, { url, headers, body }: CallbackRequest): boolean {
  const given = headers["x-twilio-signature"];
  if (!given) return false;
  const hash = URL.parse(url)?.searchParams.get("bodySHA256");
  if (hash && !equal(createHash("sha256").update(body).digest("hex"), hash.toLowerCase())) return false;
  const fields = hash ? "" : signedFields(formOf(body));
  return addresses(url).some((address) => {
    const expected = createHmac("sha1", auth_token)
      .update(address + fields, "utf8")
      .digest("base64");
    return equal(expected, given);
  });
}

/** Errors of a number that no message will ever reach: it does not exist, or is a landline. */
const UNREACHABLE = new Set(["21211", "21614", "30005", "30006"]);
const OPTED_OUT = "21610";

/** The notices in a verified request. Twilio sends no time, so the time of arrival is used. */
export function parse(_: Signing, { url, body, at: now }: CallbackRequest): Notice[] {
  const form = formOf(body);
  const providerMessageId = form.get("MessageSid") ?? form.get("SmsSid") ?? "";
  if (providerMessageId === "") return [];
  const at = new Date(now).toISOString();
  const status = form.get("MessageStatus");
  if (status === null) return inbound(form, { eventId: providerMessageId, at, providerMessageId });
  const sendId = URL.parse(url)?.searchParams.get("send_id");
  const code = form.get("ErrorCode");
  const facts = {
    eventId: `${providerMessageId}:${status}`,
    at,
    providerMessageId,
    ...(sendId && { sendId }),
    ...(form.get("To") && { address: plainNumber(form.get("To")) }),
    ...(code && { code: `twilio_${code}` }),
  };
  if (status === "delivered") return [{ ...facts, kind: "delivered" }];
  if (status !== "undelivered" && status !== "failed") return [];
  if (code === OPTED_OUT) {
    return [
      { ...facts, kind: "failed" },
      { ...facts, kind: "unsubscribed", eventId: `${facts.eventId}:list` },
    ];
  }
  if (code !== null && UNREACHABLE.has(code)) return [{ ...facts, kind: "bounced", permanent: true }];
  return [{ ...facts, kind: "failed" }];
}

const OPT_OUTS: Record<string, "stop" | "start" | "help"> = { STOP: "stop", START: "start", HELP: "help" };

function inbound(
  form: URLSearchParams,
  facts: { eventId: string; at: string; providerMessageId: string },
): Notice[] {
  const [from, to, text] = [form.get("From"), form.get("To"), form.get("Body")];
  if (from === null || text === null) return [];
  // Set where Twilio manages the opt-out list itself, and has replied already.
  const optOut = OPT_OUTS[form.get("OptOutType")?.toUpperCase() ?? ""];
  const message = { from: plainNumber(from), to: plainNumber(to), text };
  return [{ ...facts, kind: "inbound", ...message, ...(optOut && { optOut }) }];
}

/** Numbers of other channels have a prefix, as in `whatsapp:+1…`. */
function plainNumber(address: string | null): string {
  return (address ?? "").replace(/^[a-z]+:/i, "");
}

function formOf(body: Buffer): URLSearchParams {
  return new URLSearchParams(body.toString("utf8"));
}

/** Each name with its value, sorted; a repeated name has each distinct value once. */
function signedFields(form: URLSearchParams): string {
  // Not `getAll`, which looks through the whole form: anybody can post one of very many names.
  const values = new Map<string, Set<string>>();
  for (const [name, value] of form) values.set(name, (values.get(name) ?? new Set()).add(value));
  return [...values.keys()]
    .sort()
    .flatMap((name) => [...values.get(name)!].sort().map((value) => name + value))
    .join("");
}

function addresses(url: string): string[] {
  const parsed = URL.parse(url);
  if (!parsed) return [];
  const standard = parsed.protocol === "https:" || parsed.protocol === "wss:" ? "443" : "80";
  const [, start, host = "", rest = ""] = /^((?:http|ws)s?:\/\/)([^/?#]*)(.*)$/is.exec(url) ?? [];
  const bare = host.replace(/:\d+$/, "");
  const port = parsed.port || standard;
  return [...new Set([url, `${start}${bare}${rest}`, `${start}${bare}:${port}${rest}`])];
}

function equal(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
