import { z } from "zod";
import { isUuid, storable } from "#db/text.ts";
import { LONGEST_ID } from "#runtime/channels/index.ts";
import type { CallLine } from "#runtime/channels/provider/call.ts";
import type { Notice } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";

const base = {
  eventId: z.string(),
  at: z.iso.datetime(),
  sendId: z.uuid().optional().catch(undefined),
  providerMessageId: z.string().optional(),
  address: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
};

/** A notice in its form for the queue. */
export const QueuedNotice: z.ZodType<Notice> = z.discriminatedUnion("kind", [
  z.object({ ...base, kind: z.enum(["delivered", "failed", "complained", "unsubscribed"]) }),
  z.object({ ...base, kind: z.literal("bounced"), permanent: z.boolean() }),
  z.object({ ...base, userAgent: z.string().optional(), kind: z.enum(["opened", "clicked"]) }),
  z.object({ ...base, kind: z.literal("subscription"), url: z.string() }),
  z.object({
    ...base,
    kind: z.literal("call"),
    state: z.enum(["ringing", "answered", "ended"]),
    result: z.enum(["completed", "busy", "no_answer", "failed"]).optional(),
    answeredBy: z.enum(["human", "machine"]).optional(),
    seconds: z.number().optional(),
    cost: z.number().optional(),
    currency: z.string().optional(),
    lines: z
      .array(z.object({ by: z.enum(["us", "them"]), text: z.string(), keys: z.string().optional() }))
      .optional(),
  }),
  z.object({
    ...base,
    kind: z.literal("inbound"),
    from: z.string(),
    to: z.string(),
    text: z.string(),
    optOut: z.enum(["stop", "start", "help"]).optional(),
  }),
]);

/** Lines and characters of a call that are kept. */
const MOST_LINES = 500;
const LONGEST_LINE = 1_000;

/** A longer call is a fault of its vendor's clock. */
const LONGEST_CALL_SECONDS = 86_400;

const LONGEST = { eventId: 200, message: 500, text: 5_000, url: 2_000, userAgent: 500 };

/** A notice that PostgreSQL can store: no NUL, no unpaired surrogates, limited length, no number beyond its column. */
export function clean(notice: Notice): Notice {
  const fields = Object.entries(notice).map(([name, value]) => {
    if (name === "lines" && Array.isArray(value)) return [name, value.slice(0, MOST_LINES).map(cleanLine)];
    // An id of another form is not ours.
    if (name === "sendId" && !isUuid(String(value))) return [name, undefined];
    if (name === "seconds" && Number(value) > LONGEST_CALL_SECONDS) return [name, undefined];
    if (typeof value !== "string") return [name, value];
    const most = LONGEST[name as keyof typeof LONGEST] ?? LONGEST_ID;
    return [name, storable(value, most)];
  });
  return Object.fromEntries(fields) as Notice;
}

function cleanLine({ by, text, keys }: CallLine): CallLine {
  return { by, text: storable(text, LONGEST_LINE), ...(keys !== undefined && { keys: storable(keys, 20) }) };
}

// These notices stop messages, so they do not wait behind the property's other jobs.
const URGENT: readonly Notice["kind"][] = ["inbound", "complained", "unsubscribed", "call"];

export const isUrgent = ({ kind }: Pick<Notice, "kind">): boolean => URGENT.includes(kind);

/** Those of the stored notices that were not in force so far, marked as in force with this transaction. */
export async function putInForce(
  { sql, property }: Context,
  providerId: string,
  notices: readonly Notice[],
): Promise<Notice[]> {
  if (notices.length === 0) return [];
  const rows = await sql<{ event_id: string }[]>`
    update provider_notices set in_force = true
    where property_id = ${property.id} and provider_id = ${providerId}
      and event_id = any(${notices.map(({ eventId }) => eventId).toSorted()}::text[]) and not in_force
    returning event_id`;
  const waiting = new Set(rows.map(({ event_id }) => event_id));
  return notices.filter(({ eventId }) => waiting.has(eventId));
}
