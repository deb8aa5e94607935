import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { CHANNELS } from "./channels.ts";
import { BLOCK_REASONS, type BlockReason } from "./gate.ts";
import { DEFER_REASONS, type DeferReason } from "./hours.ts";
import { type Asked, type Verdict, verdictsOn } from "./verdicts.ts";

const MOST_CHECKED = 1000;
const phone = z.string().max(60);
const email = z.string().max(320);

const reasons = z.array(z.enum(Object.keys(BLOCK_REASONS) as BlockReason[]));
const deferReasons = z.array(z.enum(Object.keys(DEFER_REASONS) as DeferReason[]));
const retryAt = timestamp()
  .nullable()
  .describe("The first instant at which it may go; null when none is known");

const Result = z.object({
  phone: z.string().optional(),
  email: z.string().optional(),
  player_id: z.uuid().nullable().describe("The player's id; null when no player has the address"),
  allowed: z.boolean(),
  reasons,
  defer_reasons: deferReasons.optional().describe("Why it would wait; only when it would"),
  retry_at: retryAt.optional(),
  checked_at: timestamp(),
});

export default tool({
  name: "compliance_check",
  title: "Check whether players may be contacted",
  description:
    "Says for each phone, email or player whether a message on the channel may go now, and every reason why not. What only postpones a message, quiet hours where the player is and frequency rules, stands in defer and leaves allowed as it is. The same gate stands before every send. Where several players share an address, one who is banned, self-excluded, deceased or on vip_hold, who has refused the channel, or whose email is undeliverable bars it for all of them; one's age or phone number on a do-not-call list does not bar a shared email for the others.",
  scope: "read",
  effect: "read",
  core: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    channel: z.enum(CHANNELS),
    phone: phone.optional().describe("As dialed in the property's country, or E.164"),
    phones: z
      .array(phone)
      .max(MOST_CHECKED)
      .optional()
      .describe("A bulk check: one result each, in this order"),
    email: email.optional(),
    emails: z.array(email).max(MOST_CHECKED).optional().describe("A bulk check by email"),
    playerId: z.uuid().optional().describe("A player's id, from list_players"),
    playerIds: z
      .array(z.uuid())
      .max(MOST_CHECKED)
      .optional()
      .describe("A bulk check of players, by the ids of list_players"),
    purpose: z
      .enum(["marketing"])
      .default("marketing")
      .describe("What the message is for: each message is held to what is required of marketing"),
    at: timestamp().optional().describe("Evaluate for this time instead of now"),
  },
  output: z.object({
    allowed: z.boolean().describe("True when every result is allowed"),
    reasons: reasons.describe("Of all results together"),
    defer: z
      .object({ reasons: deferReasons, retry_at: retryAt })
      .optional()
      .describe("Only when a result would wait: why, and from when on all of them may go"),
    results: z.array(Result).describe("In the order asked: phones, emails, players"),
  }),
  faults: ["invalid"],
  async handler(context, { channel, at, ...given }) {
    const asked = questions(context, given);
    if (asked.length === 0)
      throw invalid("phone", "give phone, phones, email, emails, playerId or playerIds");
    if (asked.length > MOST_CHECKED) {
      throw new Fault("invalid", {
        message: `${asked.length} are asked about; ${MOST_CHECKED} at the most in one call.`,
      });
    }
    const verdicts = await verdictsOn(context, channel, asked, at);
    const results = verdicts.map(({ defer_reasons, retry_at, ...verdict }, index) => ({
      ...asked[index]!.shown,
      ...verdict,
      ...(defer_reasons.length > 0 && { defer_reasons, retry_at }),
    }));
    const union = unionOf(results.map((result) => result.reasons));
    const defer = deferOf(verdicts.filter((verdict) => verdict.defer_reasons.length > 0));
    return { allowed: union.length === 0, reasons: union, ...(defer && { defer }), results };
  },
});

function unionOf<T extends string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort();
}

function deferOf(waiting: Verdict[]) {
  if (waiting.length === 0) return null;
  const times = waiting.map((verdict) => verdict.retry_at).sort();
  return {
    reasons: unionOf(waiting.map((verdict) => verdict.defer_reasons)),
    retry_at: times.includes(null) ? null : times.at(-1)!,
  };
}

interface Question extends Asked {
  /** The field of the caller's input. */
  shown: { phone?: string; email?: string };
}

interface Given {
  phone?: string | undefined;
  phones?: string[] | undefined;
  email?: string | undefined;
  emails?: string[] | undefined;
  playerId?: string | undefined;
  playerIds?: string[] | undefined;
}

function questions({ property }: Context, given: Given): Question[] {
  const all = <T>(one: T | undefined, many: T[] | undefined): T[] => [
    ...(one === undefined ? [] : [one]),
    ...(many ?? []),
  ];
  const ask = (shown: Question["shown"], address: string | null): Question => {
    const hash = address === null ? null : addressHash(property.pepper, address).toString("hex");
    return { shown, address, hash, player: null };
  };
  return [
    ...all(given.phone, given.phones).map((text) =>
      ask({ phone: text }, normalizePhone(text, property.default_country)),
    ),
    ...all(given.email, given.emails).map((text) => ask({ email: text }, normalizeEmail(text))),
    ...all(given.playerId, given.playerIds).map((id) => ({
      shown: {},
      address: null,
      hash: null,
      player: id,
    })),
  ];
}
