import { cast, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Channel } from "./channels.ts";

/** What messages go out by: the house's own inbox needs no consent, and every other rule stands. */
export type GatedChannel = Channel | "inbox";

/** Why a message may not go to a player, each with what it means. */
export const BLOCK_REASONS = {
  banned: "The player is banned.",
  consent_expired: "The consent had an end, and it has passed.",
  deceased: "The player has died.",
  deleted: "The player's record is deleted.",
  dnc: "The player's phone number is on a do-not-call list, which bars every channel.",
  erased: "The person had their data erased.",
  invalid_address: "There is no address for the channel, or it cannot be delivered to.",
  needs_review: "A text from the number waits to be read, because it may mean stop.",
  no_consent: "There is no consent for the channel.",
  reassigned_number: "The number may belong to someone else now.",
  self_excluded: "The person has excluded themselves from gambling.",
  shared_address:
    "Another player with the same address is banned, self-excluded, deceased or on vip_hold, has refused the channel, or has it as undeliverable.",
  suppressed: "The address is suppressed for the channel.",
  underage: "The player is younger than the property's minimum age.",
  vip_hold: "The player's host has asked that nothing be sent.",
} as const;

export type BlockReason = keyof typeof BLOCK_REASONS;

export interface GateOptions {
  property: Pick<Property, "id" | "timezone" | "min_age" | "email_consent_mode">;
  channel: GatedChannel;
  /** ISO time to evaluate for; the transaction's own when left out. */
  at?: string | undefined;
}

/**
 * THE gate, as SQL over `players p`: a text[] of every reason why this player may not be sent to, sorted and
 * distinct; empty when a message may go. Set-based: each list is asked by one plain equality, so that the
 * planner probes its index for few players and hashes it once for many.
 */
export function gateReasons(options: GateOptions): Fragment {
  return reasonsArray(gateRules(options, CONDITIONS));
}

/**
 * The rules that can bear on the channel, each as SQL over `players p`: whether it blocks, or, asked for `RECORDS`,
 * which records make it block. Both are of the same text.
 */
export function gateRules(
  options: GateOptions,
  { field, list, any }: Asking,
): Partial<Record<BlockReason, Fragment>> {
  const { property, channel, at } = options;
  const now = at === undefined ? sql`now()` : cast(at, "timestamptz");
  const lists = listsOver(options, now, list);
  const hashes = [sql`p.email_hash`, sql`p.phone_hash`];
  const expired = sql`(p.consent_expiries ->> ${raw(`'${channel}'`)})::timestamptz <= ${now}`;
  const youngest = sql`(select ((${now} at time zone ${property.timezone}::text)
    - make_interval(years => ${property.min_age}::int))::date)`;
  const status = (value: string) => field("status", sql`p.status = ${raw(`'${value}'`)}`);
  const onPhone = channel === "sms" || channel === "voice";
  const unreachable = UNREACHABLE[channel];
  return {
    banned: status("banned"),
    consent_expired: field("consents", expired),
    deceased: status("deceased"),
    deleted: field("deleted_at", sql`p.deleted_at is not null`),
    dnc: lists.dnc(sql`p.phone_hash`),
    erased: any([status("erased"), ...hashes.map(lists.erased)]),
    ...(unreachable && { invalid_address: field(...unreachable) }),
    ...(onPhone && { needs_review: lists.inReview(sql`p.phone_hash`) }),
    // One that has expired is none: who knows the specification's reasons alone is told so too.
    no_consent: field("consents", sql`(${noConsent(options)}) or ${expired}`),
    ...(onPhone && { reassigned_number: lists.reassigned(sql`p.phone_hash`) }),
    self_excluded: any([status("self_excluded"), lists.excludedPlayer, ...hashes.map(lists.excluded)]),
    ...(lists.shared && { shared_address: lists.shared }),
    suppressed: any([lists.suppressedPlayer, ...hashes.map(lists.suppressed)]),
    underage: field("birth_date", sql`p.birth_date > ${youngest}`),
    vip_hold: status("vip_hold"),
  };
}

/** What is asked of a rule's parts: a field of the player's own record, a list, or any of several. */
interface Asking {
  field(name: string, condition: Fragment): Fragment;
  /** `guard`: what of the player has to hold besides. */
  list(list: List, where: Fragment, guard?: Fragment): Fragment;
  any(parts: readonly Fragment[]): Fragment;
}

/** The records that lists are made of: by which name a condition speaks of them, and what they say. */
const LISTS = {
  dnc_entries: { alias: "d", what: "d.list", since: "d.requested_at", until: "d.expires_at" },
  players: { alias: "o", what: "o.status", since: "null", until: "null" },
  self_exclusions: { alias: "x", what: "x.program", since: "x.starts_at", until: "x.ends_at" },
  suppressions: { alias: "s", what: "s.reason", since: "s.created_at", until: "s.expires_at" },
};
type List = keyof typeof LISTS;

const CONDITIONS: Asking = {
  field: (_, condition) => condition,
  list: (list, where, guard) =>
    sql`${guard ? sql`${guard} and ` : raw("")}exists (
      select 1 from ${raw(`${list} ${LISTS[list].alias}`)} where ${where})`,
  any: (parts) => join(parts, " or "),
};

/** The records by which a rule blocks, as a jsonb[] of table, id, what it says, since and until when. */
export const RECORDS: Asking = {
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
 * The reasons for an address that no player has, given an SQL expression of its hash: it has no consent, and
 * the lists may know it. A null hash is an address that cannot exist.
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

/** By which field, and when. Where a push goes is known by its subscriptions alone. */
const UNREACHABLE: Partial<Record<GatedChannel, [field: string, condition: Fragment]>> = {
  email: ["email", sql`p.email is null or p.email_status = 'undeliverable'`],
  sms: ["phone", sql`p.phone is null`],
  voice: ["phone", sql`p.phone is null`],
};

/** By which column players share the channel's address, and which of them bar it for all. */
export const SHARED: Partial<Record<GatedChannel, { hash: string; bars: string }>> = {
  email: { hash: "email_hash", bars: "bars_email" },
  sms: { hash: "phone_hash", bars: "bars_sms" },
  voice: { hash: "phone_hash", bars: "bars_voice" },
};

function noConsent({ property, channel }: GateOptions): Fragment {
  if (channel === "inbox") return sql`false`;
  const given = raw(`p.consents ->> '${channel}'`);
  const optOut = channel === "email" && property.email_consent_mode === "opt_out";
  return optOut ? sql`${given} = 'false'` : sql`${given} is distinct from 'true'`;
}

/**
 * The lists, each asked by one equality. A self-exclusion's addresses stand in `suppressions`: row-level
 * security lets no array operator use an index, because they are not leakproof.
 */
function listsOver({ property, channel }: GateOptions, now: Fragment, list: Asking["list"]) {
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
    // What is wrong with an address, or is asked of it, does not follow the player to another one.
    suppressedPlayer: suppression(
      sql`s.player_id = p.id`,
      sql`${here} and s.reason not in ('hard_bounce', 'soft_bounce_limit', 'invalid', 'needs_review')`,
    ),
    excludedPlayer: list(
      "self_exclusions",
      sql`x.property_id = ${own} and x.player_id = p.id
      and x.starts_at <= ${now} and (x.ends_at is null or x.ends_at > ${now})`,
    ),
    // Of one who is barred it is said by the player's own reasons. That another has not been asked is no refusal.
    shared:
      shared &&
      list(
        "players",
        sql`o.property_id = ${own} and ${raw(`o.${shared.hash} = p.${shared.hash} and o.${shared.bars}`)}`,
        raw(`not p.${shared.bars}`),
      ),
    // Every recipient is checked against the list, an email's too. Who has a reassigned number now is another person.
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
