import { z } from "zod";
import { sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";

const MOST_DAYS = 90;
/** Assumed events of all players together. */
const MOST_EVENTS = 1_000_000;

/** The events that players are assumed to cause during the simulation. */
export const Assume = z
  .discriminatedUnion("by", [
    z
      .strictObject({ by: z.literal("nothing") })
      .describe("Players do nothing: every wait for an event times out"),
    z
      .strictObject({ by: z.literal("as_before"), days: z.int().min(1).max(MOST_DAYS).default(30) })
      .describe("Each player repeats the events of the last `days` days, that many days later"),
    z
      .strictObject({
        by: z.literal("chances"),
        events: z
          .array(
            z.strictObject({
              name: z.string().min(1).max(60).describe('Such as "visit"'),
              per_day: z.number().min(0).max(1).describe("The chance that a player does it on a day"),
              properties: z.record(z.string(), z.unknown()).default({}),
            }),
          )
          .min(1)
          .max(20),
      })
      .describe("Each player does an event on a day with a chance, drawn by the seed"),
  ])
  .default({ by: "nothing" })
  .describe("The events that the players cause meanwhile");
export type Assume = z.output<typeof Assume>;

export interface Period {
  /** ISO time at which everybody enters. */
  from: string;
  days: number;
  /** The start of all random choices: the same seed gives the same simulation. */
  seed: string;
}

/** Writes the assumed events of the enrolled players. Answers their number. */
export async function assumeEvents({ sql: transaction, property }: Tenant, assume: Assume, period: Period) {
  const { from, days, seed } = period;
  if (assume.by === "nothing") return 0;
  const own = sql`${property.id}::uuid`;
  const players = sql`select distinct player_id from journey_enrollments where property_id = ${own} and entered_at = ${from}::timestamptz`;
  const end = sql`${from}::timestamptz + make_interval(days => ${days}::int)`;
  const again =
    assume.by === "as_before"
      ? sql`
        select v.player_id, v.name, v.occurred_at + make_interval(days => ${assume.days}::int) as occurred_at, v.properties
        from (${players}) w join public.player_events v on v.property_id = ${own} and v.player_id = w.player_id
        where v.occurred_at >= ${from}::timestamptz - make_interval(days => ${assume.days}::int)
          and v.occurred_at < ${from}::timestamptz`
      : sql`
        select w.player_id, c.name, ${from}::timestamptz + (d.day + ${drawn(seed, 2)}) * interval '1 day' as occurred_at, c.properties
        from (${players}) w
          cross join jsonb_to_recordset(${assume.events}::jsonb) c(name text, per_day double precision, properties jsonb)
          cross join generate_series(0, ${days}::int - 1) d(day)
        where ${drawn(seed, 1)} < c.per_day`;
  const written = await transaction`
    insert into assumed_events (property_id, id, player_id, name, occurred_at, properties)
    select ${own}, gen_random_uuid(), player_id, name, occurred_at, properties
    from (${again}) a where occurred_at < ${end} order by occurred_at, player_id, name limit ${MOST_EVENTS}::int returning 1`;
  await transaction`analyze assumed_events`;
  return written.count;
}

/** A number from 0 to 1 for a player `w`, an event `c` and a day `d`, by the seed. */
function drawn(seed: string, draw: number) {
  const hash = sql`sha256(convert_to(${`${seed}|${draw}|`}::text || c.name || '|' || d.day::text, 'UTF8') || uuid_send(w.player_id))`;
  return sql`((get_byte(${hash}, 0) * 65536 + get_byte(${hash}, 1) * 256 + get_byte(${hash}, 2)) / 16777216.0::double precision)`;
}
