import { cast, type Fragment, join, literals, raw, sql } from "#db/sql.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { CHANNELS, type Channel } from "./channels.ts";
import { clockAt, type WaitOptions } from "./hours.ts";

/** The channels that a rule's `channel` counts together. No rule counts the inbox: it disturbs nobody. */
export const CAPPED_CHANNELS = {
  any: CHANNELS,
  phone: ["sms", "voice"],
  sms: ["sms"],
  email: ["email"],
  voice: ["voice"],
  push: ["push"],
} as const satisfies Record<Channel | "any" | "phone", readonly Channel[]>;

export type CappedChannel = keyof typeof CAPPED_CHANNELS;

export const WINDOW_UNITS = ["hour", "day", "week"] as const;
export const CAP_MODES = ["rolling", "calendar_player_tz"] as const;

export interface CapOptions extends WaitOptions {
  /** The tags of the sending campaign: a rule with a tag concerns campaigns with that tag. */
  tags: readonly string[];
  /** The send itself, if it exists: repeating it is not another message. */
  campaignId?: string;
  /** No frequency rule holds the campaign. The law of calls still does. */
  isExempt?: boolean;
  /** Calls of the simulator count too, for calls of the simulator. */
  isSimulated?: boolean;
}

/**
 * A send `s` that failed by our own timeout, as SQL: no vendor has reported it, and the player may have received it.
 */
export const UNCONFIRMED = sql`s.status = 'failed' and s.repeats and s.sent_at is null`;

/** The sends to a player `c`, each part found by one plain equality. */
const SENT_BY = [
  sql`s.player_id = c.id`,
  sql`s.address_hash = c.phone_hash`,
  sql`s.address_hash = c.email_hash`,
];

/** Whether any frequency rule applies to a channel and a campaign's tags, as SQL. The law applies to every call. */
export function capsApply(options: CapOptions): Fragment {
  if (options.channel === "voice") return sql`true`;
  if (options.isExempt) return sql`false`;
  return sql`exists (select from frequency_rules r where ${applicable(options)})`;
}

/** The law of calls as one more rule: no number is called twice within the hours of the law. */
function lawOf({ property, channel }: CapOptions): Fragment {
  if (channel !== "voice") return raw("");
  return sql`union all
      select l.id, 'voice', null, null, null, 1, 'rolling', 'hour', null, make_interval(secs => l.amount * 3600), true
      from voice_laws l where l.property_id = ${property.id}::uuid and l.kind = 'hours_between_calls'`;
}

/** A call that rang, and calls of the simulator where these count. */
function lawfullyCounted({ isSimulated }: CapOptions): Fragment {
  const simulated = isSimulated ? sql`or s.status = 'skipped' and s.skip_reasons = '{simulated}'` : raw("");
  return sql`c.is_law and (s.status = 'failed' and s.sent_at is not null ${simulated})`;
}

function applicable({ property, channel, tags, isExempt }: CapOptions): Fragment {
  const words = Object.entries(CAPPED_CHANNELS)
    .filter(([, channels]) => (channels as readonly string[]).includes(channel))
    .map(([word]) => `'${word}'`);
  const own = sql`r.property_id = ${property.id}::uuid`;
  if (words.length === 0 || isExempt) return sql`${own} and false`;
  return sql`${own} and r.is_active and r.channel in (${raw(words.join(", "))})
    and (r.tag is null or r.tag = any(${[...tags]}::text[]))`;
}

/**
 * The frequency rules as CTEs over a relation of players with `id`, `zones` and `region`. They end in two tables.
 * `capped (id, rule, ends)`: the players who have had as many messages as a rule allows. `caps (id, free_at)`: the time
 * when the last of these rules allows one more. A message counts from its claim on, unless it failed or was
 * transactional. It also counts while it waits to be repeated because the vendor may have it, and after it failed by
 * our own timeout. Messages to the player's addresses count as the player's, also those for another record,
 * such as an older one. A lock on all players who share an address keeps two claims apart; an earlier statement takes
 * it.
 */
export function capsCtes(options: CapOptions, source: string): Fragment {
  const { property, at } = options;
  const now = clockAt(at);
  const own = cast(property.id, "uuid");
  const others = options.campaignId
    ? sql`and s.campaign_id is distinct from ${options.campaignId}::uuid`
    : raw("");
  const law = options.channel === "voice" ? sql` or ${lawfullyCounted(options)}` : raw("");
  const campaign = sql`select from campaigns k where k.property_id = ${own} and k.id = s.campaign_id`;
  const counted = (match: Fragment) => sql`select s.id, s.claimed_at from campaign_sends s
    where s.property_id = ${own} and ${match} and s.claimed_at > ${now} - c.span - interval '1 day'
      and (s.status in ('sending', 'sent', 'delivered', 'bounced', 'unknown')
        or s.repeats and (s.status in (${literals(WAITING_SENDS)}) ${others} or ${UNCONFIRMED})${law})
      and (s.channel = c.channel or c.channel = 'any' and s.channel <> 'inbox'
        or c.channel = 'phone' and s.channel in ('sms', 'voice'))
      and (c.is_law or not exists (${campaign} and k.is_transactional))
      and (c.tag is null or exists (${campaign} and c.tag = any(k.tags)))`;
  return sql`cap_rules as materialized (
      select r.id as rule, r.channel, r.tag, r.country, r.state, r.max_sends, r.mode, r.window_unit as unit,
        r.window_count * ('1 ' || r.window_unit)::interval as units,
        make_interval(hours => r.window_count * case r.window_unit when 'hour' then 1 when 'day' then 24 else 168 end)
          as span, false as is_law
      from frequency_rules r where ${applicable(options)}
      ${lawOf(options)}
    ), cap_players as materialized (
      select p.id, h.email_hash, h.phone_hash, r.*, case when p.zones = '{}' then array[home.zone] else p.zones end as zones
      from ${raw(source)} p
        join players h on h.property_id = ${own} and h.id = p.id
        cross join (select ${property.timezone}::text as zone, ${property.default_country}::text as country) home
        join cap_rules r on r.country is null
          or r.country = coalesce(nullif(split_part(p.region, '-', 1), ''), home.country)
            and coalesce(r.state, '') in ('', split_part(p.region, '-', 2))
    ), capped as (
      select c.id, c.rule, w.ends
      from cap_players c
        cross join lateral (
          select claimed_at from (${join(SENT_BY.map(counted), " union ")}) s
          order by claimed_at desc offset c.max_sends - 1 limit 1) last
        cross join lateral (
          select case when c.mode = 'rolling' then last.claimed_at + c.span else (
            select max((date_trunc(c.unit, last.claimed_at at time zone z.zone) + c.units) at time zone z.zone)
            from (select known_zone(zone, ${property.timezone}::text) as zone from unnest(c.zones) zone) z) end
            as ends) w
      where w.ends > ${now}
    ), caps as materialized (
      select id, max(ends) as free_at from capped group by id
    )`;
}
