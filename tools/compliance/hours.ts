import { cast, type Fragment, raw, sql } from "#db/sql.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { GatedChannel } from "./gate.ts";

/** The reasons why an allowed message waits, each with its meaning. */
export const DEFER_REASONS = {
  frequency_capped: "The player has had as many messages as a frequency rule allows.",
  quiet_hours: "The player's place, or a possible one, has quiet hours now.",
} as const;

export interface WaitOptions {
  property: Pick<Property, "id" | "timezone" | "default_country">;
  channel: GatedChannel;
  /** ISO time to evaluate for. Default: the statement's time. */
  at?: string | undefined;
  /** Closed hours drop the message, also where their rule only postpones it. */
  skips?: boolean;
  /** An interval as SQL: the hours must still be open that much later. */
  lead?: string;
}

export type DeferReason = keyof typeof DEFER_REASONS;

/** The ISO time as SQL. Default: the statement's time. */
export function clockAt(at: string | undefined): Fragment {
  return at === undefined ? sql`statement_timestamp()` : cast(at, "timestamptz");
}

// Rules are by weekday, so eight days contain the next opening of every rule.
const DAYS_AHEAD = 8;

/** Whether any rule applies to the channel, as SQL. */
export function hoursApply(options: WaitOptions): Fragment {
  return sql`exists (select from quiet_hours_rules ${rulesOf(options)})`;
}

function rulesOf({ property, channel }: WaitOptions): Fragment {
  return sql`where property_id = ${property.id}::uuid and channel @> ${raw(`'{${channel}}'`)}`;
}

/**
 * The quiet hours as CTEs over a relation with `zones` and `region`. They end in `hours (zones, region, open, is_open,
 * skips)`. `open`: the instants, from the begin of the local day of `at` to a week after it, at which every level of rules allows every
 * zone. `is_open`: the same at `at`. `skips`: a rule that closes the place skips messages instead of postponing them. A
 * place without a row is always open. Each place is computed once, for all its players. A country's and a state's rules
 * apply together; rules without a country apply where the country has none. Of one level's rules the day's latest
 * `effective_from` counts. A day that none of them names is closed.
 */
export function hoursCtes(options: WaitOptions, source: string): Fragment {
  const { property, at, lead, skips = false } = options;
  const isOpen = (instants: Fragment) =>
    sql`${instants} @> tstzrange(${now}, ${now}${raw(lead ? ` + ${lead}` : "")}, '[]')`;
  const now = clockAt(at);
  return sql`hour_rules as materialized (
      select id, country, state, days, open_local::time as opens, close_local::time as closes, action,
        coalesce(effective_from, '-infinity') as since
      from quiet_hours_rules ${rulesOf(options)}
    ), hour_places as materialized (
      select distinct zones, region from ${raw(source)} where exists (select from hour_rules)
    ), hour_zones as materialized (
      select p.zones, p.region, known_zone(z.zone, home.zone) as zone,
        coalesce(nullif(split_part(p.region, '-', 1), ''), ${property.default_country}::text) as country,
        split_part(p.region, '-', 2) as state
      from hour_places p
        cross join (select ${property.timezone}::text as zone) home
        cross join lateral unnest(case when p.zones = '{}' then array[home.zone] else p.zones end) z(zone)
    ), hour_levels as materialized (
      select distinct z.zones, z.region, z.zone, r.country, r.state
      from hour_zones z join hour_rules r on case
        when r.country is null then not exists (
          select from hour_rules o where o.country = z.country and coalesce(o.state, z.state) = z.state)
        else r.country = z.country and coalesce(r.state, z.state) = z.state end
    ), hour_days as materialized (
      select l.*, (${now} at time zone l.zone)::date + n as day
      from hour_levels l cross join generate_series(0, ${raw(String(DAYS_AHEAD))}) n
    ), hours_of_level as (
      select d.zones, d.region, bool_or(${skips ? sql`r.id is not null` : sql`r.action = 'skip'`}) as skips, range_agg(${OPENING}) as open
      from ${DAYS}
      group by d.zones, d.region, d.zone, d.country, d.state
    ), hours as materialized (
      select zones, region, range_intersect_agg(open) as open, ${isOpen(sql`range_intersect_agg(open)`)} as is_open,
        coalesce(bool_or(skips) filter (where not ${isOpen(sql`open`)}), false) as skips
      from hours_of_level group by zones, region
    )`;
}

/** Each day of a place, with the rules `r` of a level that apply on it. */
const DAYS = sql`hour_days d left join lateral (
        select * from (
          select *, since = max(since) over () as is_latest from hour_rules
          where country is not distinct from d.country and state is not distinct from d.state and since <= d.day
        ) known where is_latest
      ) r on true
      cross join lateral (select (d.day + r.opens) at time zone d.zone as opens,
        d.day + r.closes as closing, (d.day + r.closes) at time zone d.zone as closes) i`;

/**
 * The opening of a day's rule. When daylight time skips or repeats an hour, the clock has two readings. The opening
 * ends at the earlier reading and begins at the later one: neither allows a message at night.
 */
const OPENING = sql`case
  when r.since is null then tstzrange(d.day::timestamp at time zone d.zone, (d.day + 1)::timestamp at time zone d.zone)
  when r.days @> to_jsonb(extract(dow from d.day)::int) then tstzrange(i.opens, greatest(i.opens, case
    when i.closes at time zone d.zone > i.closing then i.closes - (i.closes at time zone d.zone - i.closing)
    when (i.closes - interval '1 hour') at time zone d.zone = i.closing then i.closes - interval '1 hour'
    when (i.closes - interval '30 minutes') at time zone d.zone = i.closing then i.closes - interval '30 minutes'
    else i.closes end))
  else 'empty' end`;

/**
 * Added after `hoursCtes`: the rules that close a place at `at`, as the CTE `closing (zones, region, rule, action,
 * since)`.
 */
export function closingCte({ at }: WaitOptions): Fragment {
  const now = clockAt(at);
  return sql`closing as (
      select distinct d.zones, d.region, r.id as rule, r.action, nullif(r.since, '-infinity') as since
      from ${DAYS}
      where r.id is not null and d.day = (${now} at time zone d.zone)::date and not (${OPENING} @> ${now})
    )`;
}

/** The first open instant from `from` on in a row of `hours`, as SQL; null when none is known. */
export function nextOpening(open: Fragment, from: Fragment): Fragment {
  return sql`case when ${open} is null then ${from} else lower(${open} * tstzmultirange(tstzrange(${from}, null))) end`;
}
