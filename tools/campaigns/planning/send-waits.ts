import { cast, cte, type Fragment, join, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { clockAt, hoursCtes, nextOpening } from "#tools/compliance/hours.ts";
import type { Judged } from "./audience.ts";

/**
 * CTEs that end in `waiting (zones, region, until, waits)`: the places whose players must wait, until when and why. A
 * rule that skips players is left to the claim.
 */
export function waitingCtes({ property }: Tenant, campaign: Judged, at?: string): Fragment {
  const now = clockAt(at);
  const skips = campaign.quiet_hours === "skip";
  const hours = hoursCtes({ property, channel: sendingChannel(campaign), at, skips }, "judged");
  const local = cte("local_times", localTimes(property, campaign), "materialized");
  const waiting = sql`
    select zones, region, coalesce(${nextOpening(sql`open`, sql`from_at`)}, from_at) as until,
      case when local_at > ${now} then '{player_timezone}'::text[] else '{quiet_hours}' end as waits
    from (
      select zones, region, h.open, l.local_at, h.is_open, h.skips,
        greatest(${now}, l.local_at) as from_at
      from hours h full join local_times l using (zones, region)
    ) w
    where local_at > ${now} or not is_open and not skips`;
  return join([hours, local, cte("waiting", waiting, "materialized")]);
}

/** The moment at which the clocks of a place, in all its zones, show the property's time of the schedule. */
function localTimes(property: Tenant["property"], campaign: Judged): Fragment {
  const { fires_at, scheduled_at, send_in_player_timezone } = campaign;
  if (!send_in_player_timezone || fires_at === null || scheduled_at === null) {
    return sql`select '{}'::text[] as zones, '' as region, null::timestamptz as local_at where false`;
  }
  const home = cast(property.timezone, "text");
  return sql`select p.zones, p.region,
      max((${scheduled_at}::timestamptz at time zone ${home}) at time zone known_zone(z.zone, ${home})) as local_at
    from (select distinct zones, region from judged) p
      cross join lateral unnest(case when p.zones = '{}' then array[${home}] else p.zones end) z(zone)
    group by p.zones, p.region`;
}
