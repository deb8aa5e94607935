import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Goal } from "#tools/campaigns/campaign/columns.ts";

/** The key in an event's properties for its theoretical win, a number. */
const THEO = "theo";
const DEFAULT_HOURS = 168;
/** Of the standard normal distribution, for 95 %. */
const Z = 1.959964;

export const Holdout = z
  .object({
    players: z.int().describe("Held out: they could have got the message, and got none"),
    converted: z.int().describe("Of them: reached the goal in its time, from the planning on"),
    conversion_rate: z.number().nullable(),
    lift: z
      .number()
      .nullable()
      .describe("The conversion rate of those sent and delivered to, less that of the held out"),
    lift_low: z.number().nullable().describe("With lift_high the 95 % interval of lift (Newcombe)"),
    lift_high: z.number().nullable(),
  })
  .describe("Null without a holdout. Rates are null without a goal");
type Holdout = z.output<typeof Holdout>;

/**
 * Compares the recipients with the held out, by the campaign's goal and by the theoretical win of their events. Both
 * sides are counted by the events of this moment: marks of conversions are up to six hours older.
 */
export async function compareHoldout(
  { sql, property }: Tenant,
  { id, goal }: { id: string; goal: Goal | null },
  period: ReturnType<Tenant["sql"]>,
): Promise<{ holdout: Holdout | null; theo_uplift: number | null }> {
  const hours = goal?.window_hours ?? DEFAULT_HOURS;
  const [row] = await sql<Compared[]>`
    with compared as materialized (
      select s.player_id, s.status = 'skipped' as is_held, coalesce(s.sent_at, s.created_at) as since
      from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = ${id} and s.player_id is not null ${period}
        and (s.status in ('sent', 'delivered') or s.status = 'skipped' and s.skip_reasons = '{holdout}')
    ), happened as materialized (
      select c.is_held, c.player_id,
        bool_or(e.name = ${goal?.event ?? null}) as reached_goal,
        sum(case when jsonb_typeof(e.properties -> ${THEO}) = 'number'
          then (e.properties ->> ${THEO})::double precision end) as theo
      from compared c
      join player_events e on e.property_id = ${property.id} and e.player_id = c.player_id
        and e.occurred_at >= c.since and e.occurred_at < c.since + make_interval(hours => ${hours})
      group by c.is_held, c.player_id
    )
    select (select count(*)::int from compared where is_held) as players,
      (select count(*)::int from compared where not is_held) as reached,
      count(*) filter (where is_held and reached_goal)::int as held,
      count(*) filter (where not is_held and reached_goal)::int as converted,
      coalesce(sum(theo) filter (where is_held), 0)::double precision as theo_held,
      coalesce(sum(theo) filter (where not is_held), 0)::double precision as theo_reached
    from happened`;
  const { players, reached, held, converted, theo_held, theo_reached } = row!;
  if (players === 0) return { holdout: null, theo_uplift: null };
  const rates = goal && reached > 0 ? liftOf([converted, reached], [held, players]) : NO_RATES;
  return {
    holdout: { players, converted: goal ? held : 0, conversion_rate: goal ? held / players : null, ...rates },
    theo_uplift: theo_reached - (theo_held / players) * reached,
  };
}

interface Compared {
  /** Held out, and those of them who reached the goal. */
  players: number;
  held: number;
  /** Recipients who got the message, and those of them who reached the goal. */
  reached: number;
  converted: number;
  theo_held: number;
  theo_reached: number;
}

const NO_RATES = { lift: null, lift_low: null, lift_high: null };

type Share = readonly [count: number, of: number];

/** The difference of two shares with its 95 % interval: Newcombe's hybrid score, which small shares do not mislead. */
export function liftOf(one: Share, other: Share): { lift: number; lift_low: number; lift_high: number } {
  const [p, low, high] = wilson(one);
  const [q, otherLow, otherHigh] = wilson(other);
  const lift = p - q;
  return {
    lift,
    lift_low: lift - Math.hypot(p - low, otherHigh - q),
    lift_high: lift + Math.hypot(high - p, q - otherLow),
  };
}

/** A share, and Wilson's bounds of it. */
function wilson([count, of]: Share): [share: number, low: number, high: number] {
  const p = count / of;
  const middle = p + (Z * Z) / (2 * of);
  const half = Z * Math.sqrt((p * (1 - p)) / of + (Z * Z) / (4 * of * of));
  const scale = 1 + (Z * Z) / of;
  return [p, (middle - half) / scale, (middle + half) / scale];
}
