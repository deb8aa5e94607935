import { cast, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { Property } from "#runtime/operation/property.ts";
import { hasSubscription } from "#tools/push-subscriptions/subscription.ts";
import type { BarringStatus } from "#tools/statuses/players.ts";
import type { Channel } from "./channels.ts";

/** The channels of messages. The branded inbox needs no consent; all other rules apply to it. */
export type GatedChannel = Channel | "inbox";

/** The reasons against a message to a player, each with its meaning. */
export const BLOCK_REASONS = {
  banned: "The player is banned.",
  consent_expired: "The consent has expired.",
  deceased: "The player has died.",
  deleted: "The player's record is deleted.",
  dnc: "The player's phone number is on a do-not-call list, which bars every channel.",
  erased: "The person had their data erased.",
  invalid_address: "The player has no address for the channel, or the address is undeliverable.",
  needs_review: "A text from the number may mean stop and waits for review.",
  no_consent: "The player has no consent for the channel.",
  reassigned_number: "The number may belong to someone else now.",
  self_excluded: "The person has excluded themselves from gambling.",
  shared_address:
    "Another player with the same address is banned, self-excluded, deceased or on vip_hold, or has refused the channel; or the shared email is undeliverable.",
  suppressed: "The address is suppressed for the channel.",
  underage: "The player is younger than the property's minimum age.",
  vip_hold: "The player's host has requested that no messages be sent.",
} as const;

export type BlockReason = keyof typeof BLOCK_REASONS;

/** Reasons with a wider meaning on the channel voice. */
export const CALL_REASONS = {
  no_consent: "The player has no consent to calls of the level express_written.",
} satisfies Partial<Record<BlockReason, string>>;

export interface GateOptions {
  property: Pick<Property, "id" | "timezone" | "min_age" | "email_consent_mode">;
  channel: GatedChannel;
  /** ISO time to evaluate for. Default: the transaction's time. */
  at?: string | undefined;
}

/**
 * THE gate, as SQL over `players p`: a text[] of all reasons against a message to this player, sorted and distinct.
 * Empty when a message may go. Set-based: one plain equality a list, so that the planner probes its index for few
 * players and hashes it once for many.
 */
export function gateReasons(options: GateOptions): Fragment {
  return reasonsArray(gateRules(options, CONDITIONS));
}

/**
 * The rules that can apply to the channel, each as SQL over `players p`. `CONDITIONS` gives whether a rule blocks,
 * `RECORDS` which records make it block. Both come from the same text.
 */
export function gateRules(
  options: GateOptions,
  { field, list, any }: RuleWriter,
): Partial<Record<BlockReason, Fragment>> & Record<BarringStatus, Fragment> {
  const { property, channel, at } = options;
  const now = at === undefined ? sql`now()` : cast(at, "timestamptz");
  const lists = listsOver(options, now, list);
  const hashes = [sql`p.email_hash`, sql`p.phone_hash`];
  const expired = sql`(p.consent_expiries ->> ${raw(`'${channel}'`)})::timestamptz <= ${now}`;
  const youngest = sql`(select ${youngestBirth(property, now)})`;
  const status = (value: BarringStatus) => field("status", sql`p.status = ${raw(`'${value}'`)}`);
  const onPhone = channel === "sms" || channel === "voice";
  const unreachable = channel === "push" ? noBrowser(property) : UNREACHABLE[channel];
  return {
    banned: status("banned"),
    consent_expired: field("consents", expired),
    deceased: status("deceased"),
    deleted: field("deleted_at", sql`p.deleted_at is not null`),
    dnc: lists.dnc(sql`p.phone_hash`),
    erased: any([status("erased"), ...hashes.map(lists.erased)]),
    ...(unreachable && { invalid_address: field(...unreachable) }),
    ...(onPhone && { needs_review: lists.inReview(sql`p.phone_hash`) }),
    // An expired consent also reports `no_consent`, for callers that know only the specification's reasons.
    no_consent: field("consents", sql`(${noConsent(options)}) or ${expired}`),
    ...(onPhone && { reassigned_number: lists.reassigned(sql`p.phone_hash`) }),
    self_excluded: any([status("self_excluded"), lists.excludedPlayer, ...hashes.map(lists.excluded)]),
    ...(lists.shared && { shared_address: lists.shared }),
    suppressed: any([lists.suppressedPlayer, ...hashes.map(lists.suppressed)]),
    underage: field("birth_date", sql`p.birth_date > ${youngest}`),
    vip_hold: status("vip_hold"),
  };
}

/** The birth date of the youngest person who may get messages, as SQL. */
export function youngestBirth(
  { timezone, min_age }: Pick<Property, "timezone" | "min_age">,
  now: Fragment = sql`now()`,
): Fragment {
  return sql`((${now} at time zone ${timezone}::text) - make_interval(years => ${min_age}::int))::date`;
}

/** Builds SQL for the parts of a rule: a field of the player's own record, a list, or any of several. */
interface RuleWriter {
  field(name: string, condition: Fragment): Fragment;
  /** `guard`: a condition on the player that must hold too. */
  list(list: List, where: Fragment, guard?: Fragment): Fragment;
  any(parts: readonly Fragment[]): Fragment;
}

/** The tables of the lists: the alias for conditions, and the columns that describe an entry. */
const LISTS = {
  dnc_entries: { alias: "d", what: "d.list", since: "d.requested_at", until: "d.expires_at" },
  players: { alias: "o", what: "o.status", since: "null", until: "null" },
  self_exclusions: { alias: "x", what: "x.program", since: "x.starts_at", until: "x.ends_at" },
  suppressions: { alias: "s", what: "s.reason", since: "s.created_at", until: "s.expires_at" },
};
type List = keyof typeof LISTS;

const CONDITIONS: RuleWriter = {
  field: (_, condition) => condition,
  list: (list, where, guard) =>
    sql`${guard ? sql`${guard} and ` : raw("")}exists (
      select 1 from ${raw(`${list} ${LISTS[list].alias}`)} where ${where})`,
  any: (parts) => join(parts, " or "),
};

/** The records by which a rule blocks, as a jsonb[] of table, id, description, since and until. */
export const RECORDS: RuleWriter = {
  field: (name, condition) =>
    sql`case when ${condition} then array[${recordText("players", "p.id", `'${name}'`)}] else '{}' end`,
  list: (list, where, guard = sql`true`) => {
    const { alias, what, since, until } = LISTS[list];
    return sql`array(select ${recordText(list, `${alias}.id`, what, since, until)} from ${raw(`${list} ${alias}`)}
      where ${guard} and ${where})`;
  },
  any: (parts) =>
    join(
      parts.map((part) => sql`(${part})`),
      " || ",
    ),
};

/** One record that decided something, as jsonb. */
export function recordText(
  table: string,
  id: string,
  what: string,
  since = "null",
  until = "null",
): Fragment {
  return raw(
    `jsonb_build_object('table', '${table}', 'id', ${id}, 'what', ${what}, 'since', ${since}, 'until', ${until})`,
  );
}

/**
 * The reasons for an address without a player, given an SQL expression of its hash: it has no consent, and lists may
 * contain it. A null hash means an invalid address.
 */
export function strangerReasons(options: GateOptions, hash: Fragment): Fragment {
  const { channel, at } = options;
  const now = at === undefined ? sql`now()` : cast(at, "timestamptz");
  const lists = listsOver(options, now, CONDITIONS.list);
  const onPhone = channel === "sms" || channel === "voice";
  return reasonsArray({
    dnc: lists.dnc(hash),
    erased: lists.erased(hash),
    invalid_address: sql`${hash} is null`,
    ...(onPhone && { needs_review: lists.inReview(hash) }),
    no_consent: sql`true`,
    ...(onPhone && { reassigned_number: lists.reassigned(hash) }),
    self_excluded: lists.excluded(hash),
    suppressed: lists.suppressed(hash),
  });
}

/** The field of the address, and the condition that makes it unusable. */
type Unreachable = [field: string, condition: Fragment];

const UNREACHABLE: Partial<Record<GatedChannel, Unreachable>> = {
  email: ["email", sql`p.email is null or p.email_status = 'undeliverable'`],
  sms: ["phone", sql`p.phone is null`],
  voice: ["phone", sql`p.phone is null`],
};

/** The addresses of web push are the player's browsers. */
const noBrowser = ({ id }: Pick<Property, "id">): Unreachable => [
  "push_subscriptions",
  sql`not ${hasSubscription(cast(id, "uuid"))}`,
];

/** The column by which players share the channel's address, and the column by which one of them bars it for all. */
export const SHARED: Partial<Record<GatedChannel, { hash: string; bars: string }>> = {
  email: { hash: "email_hash", bars: "bars_email" },
  sms: { hash: "phone_hash", bars: "bars_sms" },
  voice: { hash: "phone_hash", bars: "bars_voice" },
};

function noConsent({ property, channel }: GateOptions): Fragment {
  if (channel === "inbox") return sql`false`;
  const given = raw(`p.consents ->> '${channel}'`);
  // 47 CFR 64.1200(a)(2): prior express written consent for calls with an artificial voice.
  if (channel === "voice") {
    return sql`${given} is distinct from 'true' or p.consent_levels ->> 'voice' is distinct from 'express_written'`;
  }
  const optOut = channel === "email" && property.email_consent_mode === "opt_out";
  return optOut ? sql`${given} = 'false'` : sql`${given} is distinct from 'true'`;
}

/**
 * The lists, each read by one equality. A self-exclusion's addresses are in `suppressions`: row-level security lets no
 * array operator use an index, because array operators are not leakproof.
 */
function listsOver({ property, channel }: GateOptions, now: Fragment, list: RuleWriter["list"]) {
  const own = cast(property.id, "uuid");
  const suppression = (match: Fragment, more: Fragment) =>
    list(
      "suppressions",
      sql`s.property_id = ${own} and ${match} and s.lifted_at is null
      and (s.expires_at is null or s.expires_at > ${now}) and ${more}`,
    );
  const dnc = (hash: Fragment, more: Fragment) =>
    list(
      "dnc_entries",
      sql`d.property_id = ${own} and d.phone_hash = ${hash}
      and (d.expires_at is null or d.expires_at > ${now}) and ${more}`,
    );
  const here = raw(`s.channel in ('${channel}', 'all')`);
  const shared = SHARED[channel];
  return {
    erased: (hash: Fragment) => suppression(sql`s.address_hash = ${hash}`, sql`s.reason = 'erased'`),
    excluded: (hash: Fragment) => suppression(sql`s.address_hash = ${hash}`, sql`s.reason = 'self_excluded'`),
    suppressed: (hash: Fragment) =>
      suppression(
        sql`s.address_hash = ${hash}`,
        sql`${here} and s.reason not in ('erased', 'self_excluded', 'needs_review')`,
      ),
    inReview: (hash: Fragment) =>
      suppression(sql`s.address_hash = ${hash}`, sql`${here} and s.reason = 'needs_review'`),
    // A suppression for a fault of an address does not follow the player to a new address.
    suppressedPlayer: suppression(
      sql`s.player_id = p.id`,
      sql`${here} and s.reason not in ('hard_bounce', 'soft_bounce_limit', 'invalid', 'needs_review')`,
    ),
    excludedPlayer: list(
      "self_exclusions",
      sql`x.property_id = ${own} and x.player_id = p.id
      and x.starts_at <= ${now} and (x.ends_at is null or x.ends_at > ${now})`,
    ),
    // A barred player has own reasons already. Another player's missing consent is no refusal.
    shared:
      shared &&
      list(
        "players",
        sql`o.property_id = ${own} and ${raw(`o.${shared.hash} = p.${shared.hash} and o.${shared.bars}`)}`,
        raw(`not p.${shared.bars}`),
      ),
    // Every recipient's phone is checked, an email's recipient too. A reassigned number belongs to another person now.
    dnc: (hash: Fragment) => dnc(hash, sql`d.list <> 'reassigned'`),
    reassigned: (hash: Fragment) => dnc(hash, sql`d.list = 'reassigned'`),
  };
}

/** In the reasons' alphabetical order. */
function reasonsArray(conditions: Partial<Record<BlockReason, Fragment>>): Fragment {
  const cases = Object.entries(conditions)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, condition]) => sql`case when ${condition} then ${raw(`'${reason}'`)} end`);
  return sql`array_remove(array[${join(cases, ",\n  ")}], null)`;
}
