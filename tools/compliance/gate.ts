import type postgres from "postgres";
import type { Sql } from "#db/client.ts";
import type { Property } from "#runtime/directory.ts";
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

/** Gives the placeholder of a value, with its cast. */
export type Bind = (value: string | number, type: string) => string;

/**
 * THE gate, as SQL over `players p`: a text[] of every reason why this player may not be sent to, sorted and
 * distinct; empty when a message may go. Set-based: each list is asked by one plain equality, so that the
 * planner probes its index for few players and hashes it once for many.
 */
export function gateReasons(sql: Sql, options: GateOptions): postgres.Fragment {
  const { property, channel, at } = options;
  if (at !== undefined) return asFragment(sql, (bind) => gateText(bind, options));
  const ofProperty = gates.get(property) ?? new Map<GatedChannel, Bound>();
  gates.set(property, ofProperty);
  const gate = ofProperty.get(channel) ?? bound((bind) => gateText(bind, options));
  ofProperty.set(channel, gate);
  return fragmentOf(sql, gate);
}

// As large as it is, it is the same for every batch.
const gates = new WeakMap<GateOptions["property"], Map<GatedChannel, Bound>>();

/** The gate as text, for statements whose placeholders are numbered by hand. */
export function gateText(bind: Bind, options: GateOptions): string {
  return reasonsArray(gateRules(bind, options, CONDITIONS));
}

/**
 * The rules that can bear on the channel, each as SQL over `players p`: whether it blocks, or, asked for `RECORDS`,
 * which records make it block. Both are of the same text.
 */
export function gateRules(
  bind: Bind,
  options: GateOptions,
  { field, list, any }: Asking,
): Partial<Record<BlockReason, string>> {
  const { property, channel, at } = options;
  const now = at === undefined ? "now()" : bind(at, "timestamptz");
  const lists = listsOver(bind, options, now, list);
  const hashes = ["p.email_hash", "p.phone_hash"];
  const expired = `(p.consent_expiries ->> '${channel}')::timestamptz <= ${now}`;
  const youngest = `(select ((${now} at time zone ${bind(property.timezone, "text")})
    - make_interval(years => ${bind(property.min_age, "int")}))::date)`;
  const status = (value: string) => field("status", `p.status = '${value}'`);
  const onPhone = channel === "sms" || channel === "voice";
  const unreachable = UNREACHABLE[channel];
  return {
    banned: status("banned"),
    consent_expired: field("consents", expired),
    deceased: status("deceased"),
    deleted: field("deleted_at", "p.deleted_at is not null"),
    dnc: lists.dnc("p.phone_hash"),
    erased: any([status("erased"), ...hashes.map(lists.erased)]),
    ...(unreachable && { invalid_address: field(...unreachable) }),
    ...(onPhone && { needs_review: lists.inReview("p.phone_hash") }),
    // One that has expired is none: who knows the specification's reasons alone is told so too.
    no_consent: field("consents", `(${noConsent(options)}) or ${expired}`),
    ...(onPhone && { reassigned_number: lists.reassigned("p.phone_hash") }),
    self_excluded: any([status("self_excluded"), lists.excludedPlayer, ...hashes.map(lists.excluded)]),
    ...(lists.shared && { shared_address: lists.shared }),
    suppressed: any([lists.suppressedPlayer, ...hashes.map(lists.suppressed)]),
    underage: field("birth_date", `p.birth_date > ${youngest}`),
    vip_hold: status("vip_hold"),
  };
}

/** What is asked of a rule's parts: a field of the player's own record, a list, or any of several. */
interface Asking {
  field(name: string, condition: string): string;
  /** `guard`: what of the player has to hold besides. */
  list(list: List, where: string, guard?: string): string;
  any(parts: readonly string[]): string;
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
    `${guard ? `${guard} and ` : ""}exists (select 1 from ${list} ${LISTS[list].alias} where ${where})`,
  any: (parts) => parts.join(" or "),
};

/** The records by which a rule blocks, as a jsonb[] of table, id, what it says, since and until when. */
export const RECORDS: Asking = {
  field: (
    name,
    condition,
  ) => `case when ${condition} then array[${recordText("players", "p.id", `'${name}'`)}]
    else '{}' end`,
  list: (list, where, guard = "true") => {
    const { alias, what, since, until } = LISTS[list];
    return `array(select ${recordText(list, `${alias}.id`, what, since, until)} from ${list} ${alias}
      where ${guard} and ${where})`;
  },
  any: (parts) => parts.map((part) => `(${part})`).join(" || "),
};

/** One record that decided something, as jsonb. */
export function recordText(table: string, id: string, what: string, since = "null", until = "null"): string {
  return `jsonb_build_object('table', '${table}', 'id', ${id}, 'what', ${what}, 'since', ${since}, 'until', ${until})`;
}

/**
 * The reasons for an address that no player has, given an SQL expression of its hash: it has no consent, and
 * the lists may know it. A null hash is an address that cannot exist.
 */
export function strangerText(bind: Bind, options: GateOptions, hash: string): string {
  const { channel, at } = options;
  const now = at === undefined ? "now()" : bind(at, "timestamptz");
  const lists = listsOver(bind, options, now, CONDITIONS.list);
  const onPhone = channel === "sms" || channel === "voice";
  return reasonsArray({
    dnc: lists.dnc(hash),
    erased: lists.erased(hash),
    invalid_address: `${hash} is null`,
    ...(onPhone && { needs_review: lists.inReview(hash) }),
    no_consent: "true",
    ...(onPhone && { reassigned_number: lists.reassigned(hash) }),
    self_excluded: lists.excluded(hash),
    suppressed: lists.suppressed(hash),
  });
}

interface Pieces {
  strings: TemplateStringsArray;
  /** Which value stands behind each of them. */
  places: number[];
}

interface Bound extends Pieces {
  values: (string | number)[];
}

// The driver (3.4.9) keeps every template's strings that it has seen for good: the same text must be the same ones.
const known = new Map<string, Pieces>();

/** Text with bound values as a fragment for the tagged template. All that is not bound is text of our own. */
export function asFragment(sql: Sql, write: (bind: Bind) => string): postgres.Fragment {
  return fragmentOf(sql, bound(write));
}

function fragmentOf(sql: Sql, { strings, places, values }: Bound): postgres.Fragment {
  return sql(strings, ...places.map((place) => values[place]!));
}

function bound(write: (bind: Bind) => string): Bound {
  const values: (string | number)[] = [];
  // No control character occurs in our SQL, so the marks cannot be mistaken for it.
  const text = write((value, type) => `\u0001${values.push(value) - 1}\u0001::${type}`);
  const pieces = known.get(text) ?? piecesOf(text);
  known.set(text, pieces);
  return { ...pieces, values };
}

function piecesOf(text: string): Pieces {
  const pieces = text.split("\u0001");
  const strings = pieces.filter((_, index) => index % 2 === 0);
  const places = pieces.filter((_, index) => index % 2 === 1).map(Number);
  return { strings: Object.assign(strings, { raw: strings }), places };
}

/** By which field, and when. Where a push goes is known by its subscriptions alone. */
const UNREACHABLE: Partial<Record<GatedChannel, [field: string, condition: string]>> = {
  email: ["email", "p.email is null or p.email_status = 'undeliverable'"],
  sms: ["phone", "p.phone is null"],
  voice: ["phone", "p.phone is null"],
};

/** By which column players share the channel's address, and which of them bar it for all. */
export const SHARED: Partial<Record<GatedChannel, { hash: string; bars: string }>> = {
  email: { hash: "email_hash", bars: "bars_email" },
  sms: { hash: "phone_hash", bars: "bars_sms" },
  voice: { hash: "phone_hash", bars: "bars_voice" },
};

function noConsent({ property, channel }: GateOptions): string {
  if (channel === "inbox") return "false";
  const given = `p.consents ->> '${channel}'`;
  const optOut = channel === "email" && property.email_consent_mode === "opt_out";
  return optOut ? `${given} = 'false'` : `${given} is distinct from 'true'`;
}

/**
 * The lists, each asked by one equality. A self-exclusion's addresses stand in `suppressions`: row-level
 * security lets no array operator use an index, because they are not leakproof.
 */
function listsOver(bind: Bind, { property, channel }: GateOptions, now: string, list: Asking["list"]) {
  const own = bind(property.id, "uuid");
  const suppression = (match: string, more: string) =>
    list(
      "suppressions",
      `s.property_id = ${own} and ${match} and s.lifted_at is null
      and (s.expires_at is null or s.expires_at > ${now}) and ${more}`,
    );
  const dnc = (hash: string, more: string) =>
    list(
      "dnc_entries",
      `d.property_id = ${own} and d.phone_hash = ${hash}
      and (d.expires_at is null or d.expires_at > ${now}) and ${more}`,
    );
  const here = `s.channel in ('${channel}', 'all')`;
  const shared = SHARED[channel];
  return {
    erased: (hash: string) => suppression(`s.address_hash = ${hash}`, "s.reason = 'erased'"),
    excluded: (hash: string) => suppression(`s.address_hash = ${hash}`, "s.reason = 'self_excluded'"),
    suppressed: (hash: string) =>
      suppression(
        `s.address_hash = ${hash}`,
        `${here} and s.reason not in ('erased', 'self_excluded', 'needs_review')`,
      ),
    inReview: (hash: string) =>
      suppression(`s.address_hash = ${hash}`, `${here} and s.reason = 'needs_review'`),
    // What is wrong with an address, or is asked of it, does not follow the player to another one.
    suppressedPlayer: suppression(
      "s.player_id = p.id",
      `${here} and s.reason not in ('hard_bounce', 'soft_bounce_limit', 'invalid', 'needs_review')`,
    ),
    excludedPlayer: list(
      "self_exclusions",
      `x.property_id = ${own} and x.player_id = p.id
      and x.starts_at <= ${now} and (x.ends_at is null or x.ends_at > ${now})`,
    ),
    // Of one who is barred it is said by the player's own reasons. That another has not been asked is no refusal.
    shared:
      shared &&
      list(
        "players",
        `o.property_id = ${own} and o.${shared.hash} = p.${shared.hash} and o.${shared.bars}`,
        `not p.${shared.bars}`,
      ),
    // Every recipient is checked against the list, an email's too. Who has a reassigned number now is another person.
    dnc: (hash: string) => dnc(hash, "d.list <> 'reassigned'"),
    reassigned: (hash: string) => dnc(hash, "d.list = 'reassigned'"),
  };
}

/** In the reasons' alphabetical order. */
function reasonsArray(conditions: Partial<Record<BlockReason, string>>): string {
  const cases = Object.entries(conditions)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, condition]) => `case when ${condition} then '${reason}' end`);
  return `array_remove(array[${cases.join(",\n  ")}], null)`;
}
