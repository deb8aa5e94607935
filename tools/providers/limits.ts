import type { Tenant } from "#runtime/operation/context.ts";
import type { Candidate } from "./choose.ts";

type Limited = Pick<Candidate, "id" | "limits">;

/**
 * `granted`: the number of messages that the provider may get now. With none, `wait` is the number of seconds until it
 * may get more.
 */
export interface Allowance {
  granted: number;
  wait: number;
  /** The day's limit is reached, not only the rate limit. */
  spent: boolean;
  /** The day (UTC) of the count. */
  day: string | null;
}

/** Reserves up to `wanted` messages within the provider's limits, across all deliveries. */
export async function reserve(
  { sql, property }: Tenant,
  { id, limits }: Limited,
  wanted: number,
): Promise<Allowance> {
  if (id === null || limits === null) return { granted: wanted, wait: 0, spent: false, day: null };
  const { perSecond, perDay } = limits;
  await sql`
    insert into provider_usage (property_id, provider_id, tokens)
    values (${property.id}, ${id}, ${Math.max(1, perSecond ?? 1)})
    on conflict (property_id, provider_id) do nothing`;
  // A bucket holds the messages of one second, and at least one, so that a slower rate can send.
  const [allowance] = await sql<Allowance[]>`
    with locked as materialized (
      select tokens, filled_at, day, used from provider_usage
      where property_id = ${property.id} and provider_id = ${id} for no key update
    ), clock as materialized (
      select clock_timestamp() as at from locked
    ), state as materialized (
      select at, (at at time zone 'utc')::date as today,
        least(greatest(1, ${perSecond}::double precision),
          tokens + ${perSecond}::double precision * greatest(0, extract(epoch from at - filled_at))) as tokens,
        case when day = (at at time zone 'utc')::date then used else 0 end as used
      from locked, clock
    ), granted as materialized (
      select s.*, greatest(0, least(${wanted}::int, floor(tokens)::int, ${perDay}::int - used)) as granted from state s
    ), written as (
      update provider_usage u set filled_at = g.at, day = g.today, used = g.used + g.granted,
        tokens = coalesce(g.tokens - g.granted, u.tokens)
      from granted g where u.property_id = ${property.id} and u.provider_id = ${id}
    )
    select granted, today::text as day, coalesce(used >= ${perDay}::int, false) as spent,
      case when used >= ${perDay}::int
        then extract(epoch from ((today + 1)::timestamp at time zone 'utc') - at)
        else greatest(0, (1 - tokens) / ${perSecond}::double precision) end::double precision as wait
    from granted`;
  return allowance!;
}

/** Returns reserved messages that were not handed over: `granted` is the part of that day's allowance. */
export async function release(
  { sql, property }: Tenant,
  { id, limits }: Limited,
  { granted: count, day }: Pick<Allowance, "granted" | "day">,
): Promise<void> {
  if (id === null || limits === null || count <= 0) return;
  await sql`
    update provider_usage set tokens = tokens + ${count}::int,
      used = case when day = ${day}::date then greatest(0, used - ${count}::int) else used end
    where property_id = ${property.id} and provider_id = ${id}`;
}
