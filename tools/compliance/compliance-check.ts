import { z } from "zod";
import { Fault, invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { CHANNELS } from "./channels.ts";
import { BLOCK_REASONS, type BlockReason } from "./gate.ts";
import { DEFER_REASONS, type DeferReason } from "./hours.ts";
import { type Subject, type Verdict, verdictsOn } from "./verdicts.ts";

const MOST_CHECKED = 1000;
const phone = z.string().max(60);
const email = z.string().max(320);

const reasons = z.array(z.enum(Object.keys(BLOCK_REASONS) as BlockReason[]));
const deferReasons = z.array(z.enum(Object.keys(DEFER_REASONS) as DeferReason[]));
const retryAt = timestamp()
  .nullable()
  .describe("The first time at which the message may go; null when none is known");

const dropped = z
  .literal(true)
  .optional()
  .describe(
    "A rule of quiet hours has the action skip: a message that comes now is dropped, and does not wait",
  );

const ONLY = ["blocked", "counts"] as const;

const Result = z.object({
  phone: z.string().optional(),
  email: z.string().optional(),
  player_id: z.uuid().nullable().describe("The player's id; null when no player has the address"),
  allowed: z.boolean(),
  reasons,
  defer_reasons: deferReasons
    .optional()
    .describe("The reasons to wait; only when the message would wait, or be dropped"),
  retry_at: retryAt.optional(),
  dropped,
  checked_at: timestamp(),
  position: z.int().optional().describe("Its place in the input, from 0; where `only` leaves others out"),
});

export default tool({
  name: "compliance_check",
  title: "Check whether players may be contacted",
  description:
    "Checks for each phone, email or player whether a message on the channel may go now, with every reason against it. defer holds the rules that only postpone it, quiet hours and frequency rules; they leave allowed unchanged. With dropped a rule of quiet hours drops it instead. The same gate checks every send. Several players may share an address. A player who is banned, self-excluded, deceased or on vip_hold, or has refused the channel, bars it for all of them, and so does an undeliverable email. A player's age or do-not-call entry bars a shared email for that player alone.",
  scope: "read",
  effect: "read",
  core: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    channel: z.enum(CHANNELS).describe("The channel of the message"),
    phone: phone.optional().describe("As dialed in the property's country, or E.164"),
    phones: z
      .array(phone)
      .max(MOST_CHECKED)
      .optional()
      .describe("A bulk check: one result each, in this order"),
    email: email.optional().describe("One address"),
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
      .describe("The purpose of the message: every message must meet the rules for marketing"),
    at: timestamp().optional().describe("Evaluate for this time instead of now"),
    only: z
      .enum(ONLY)
      .optional()
      .describe("For many: results of the blocked and the waiting alone, or no results beside the counts"),
  },
  output: z.object({
    allowed: z.boolean().describe("True when every result is allowed"),
    reasons: reasons.describe("Of all results together"),
    defer: z
      .object({ reasons: deferReasons, retry_at: retryAt, dropped })
      .optional()
      .describe(
        "Only when a result would wait or be dropped: the reasons, and the time when all of them may go",
      ),
    counts: z
      .object({
        checked: z.int(),
        allowed: z.int(),
        waiting: z.int().describe("Those of the allowed that would wait"),
        dropped: z.int().describe("Those of the allowed that a rule of quiet hours would drop"),
        blocked: z.record(z.string(), z.int()).describe("By reason; one with two reasons counts in both"),
        deferred: z.record(z.string(), z.int()).describe("By reason to wait, or to be dropped"),
      })
      .describe("Of all that were checked"),
    results: z.array(Result).describe("In the order of the input: phones, emails, players"),
  }),
  faults: ["invalid"],
  async handler(context, { channel, at, only, ...given }) {
    const empty = Object.entries(given).find(([, value]) => Array.isArray(value) && value.length === 0);
    if (empty) throw invalid(empty[0], "is empty: give one or more");
    const subjects = subjectsOf(context, given);
    if (subjects.length === 0)
      throw invalid("phone", "give phone, phones, email, emails, playerId or playerIds");
    if (subjects.length > MOST_CHECKED) {
      throw new Fault("invalid", {
        message: `The call has ${subjects.length} addresses and players; at most ${MOST_CHECKED} are allowed. Split it.`,
      });
    }
    const verdicts = await verdictsOn(context, channel, subjects, { at });
    const results = verdicts.map(({ defer_reasons, retry_at, dropped: drops, ...verdict }, index) => ({
      ...subjects[index]!.shown,
      ...verdict,
      ...(defer_reasons.length > 0 && { defer_reasons, retry_at }),
      ...(drops && { dropped: true as const }),
      ...(only && { position: index }),
    }));
    const union = unionOf(results.map((result) => result.reasons));
    const defer = deferOf(verdicts.filter((verdict) => verdict.defer_reasons.length > 0));
    const kept = results.filter((result) => isKept(result, only));
    return {
      allowed: union.length === 0,
      reasons: union,
      ...(defer && { defer }),
      counts: countsOf(verdicts),
      results: kept,
    };
  },
});

function isKept({ allowed, defer_reasons }: z.input<typeof Result>, only?: (typeof ONLY)[number]): boolean {
  return only === undefined || (only === "blocked" && (!allowed || defer_reasons !== undefined));
}

function countsOf(verdicts: readonly Verdict[]) {
  const allowed = verdicts.filter((verdict) => verdict.allowed);
  const drops = allowed.filter((verdict) => verdict.dropped).length;
  const delayed = allowed.filter(({ defer_reasons }) => defer_reasons.length > 0).length;
  return {
    checked: verdicts.length,
    allowed: allowed.length,
    waiting: delayed - drops,
    dropped: drops,
    blocked: tally(verdicts.flatMap((verdict) => verdict.reasons)),
    deferred: tally(verdicts.flatMap((verdict) => verdict.defer_reasons)),
  };
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function unionOf<T extends string>(lists: T[][]): T[] {
  return [...new Set(lists.flat())].sort();
}

function deferOf(waiting: Verdict[]) {
  if (waiting.length === 0) return null;
  const times = waiting.map((verdict) => verdict.retry_at).sort();
  return {
    reasons: unionOf(waiting.map((verdict) => verdict.defer_reasons)),
    retry_at: times.includes(null) ? null : times.at(-1)!,
    ...(waiting.some((verdict) => verdict.dropped) && { dropped: true as const }),
  };
}

interface ShownSubject extends Subject {
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

function subjectsOf({ property }: Context, given: Given): ShownSubject[] {
  const all = <T>(one: T | undefined, many: T[] | undefined): T[] => [
    ...(one === undefined ? [] : [one]),
    ...(many ?? []),
  ];
  const subject = (shown: ShownSubject["shown"], address: string | null): ShownSubject => {
    const hash = address === null ? null : addressHash(property.pepper, address).toString("hex");
    return { shown, address, hash, player: null };
  };
  return [
    ...all(given.phone, given.phones).map((text) =>
      subject({ phone: text }, normalizePhone(text, property.default_country)),
    ),
    ...all(given.email, given.emails).map((text) => subject({ email: text }, normalizeEmail(text))),
    ...all(given.playerId, given.playerIds).map((id) => ({
      shown: {},
      address: null,
      hash: null,
      player: id,
    })),
  ];
}
