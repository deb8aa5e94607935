import { identifier, sql } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import { endSilent } from "#tools/push-subscriptions/subscription.ts";
import { cancelSecondMessages, endSecondEntries } from "./second-messages.ts";

/** Tables whose rows pass over as they are. Ledgers stay: their rows are sealed. */
const PLAIN = [
  "player_events",
  "social_shares",
  "suppressions",
  "self_exclusions",
  "campaign_sends",
  "inbox_messages",
  "push_subscriptions",
  "inbound_messages",
  "privacy_requests",
  "segment_members",
  "game_tickets",
  "share_referrals",
  "player_devices",
  "voice_calls",
] as const;

interface Moved {
  /** Rows, by table. */
  moved: Record<string, number>;
  /** The kept player's messages that are cancelled, and the entries into journeys that end, as they would come twice. */
  cancelled: number;
  ended: number;
}

/** Moves the duplicate's rows to the kept player. Rows that the kept player has too are dropped. Answers the counts. */
export async function moveRecords(context: Context, keptId: string, duplicateId: string): Promise<Moved> {
  await dropDoubles(context, keptId, duplicateId);
  const cancelled = await cancelSecondMessages(context, keptId, duplicateId);
  const ended = await endSecondEntries(context, keptId, duplicateId);
  const moved: Record<string, number> = {
    journey_enrollments: await moveEnrollments(context, keptId, duplicateId),
    game_plays: await movePlays(context, keptId, duplicateId),
  };
  await moveStandings(context, keptId, duplicateId);
  await endSilent(context, [keptId, duplicateId]);
  for (const table of PLAIN) {
    // Of a browser it is the time when it spoke last, by which the ten of a player are chosen.
    const time = table === "push_subscriptions" ? sql`` : sql`, updated_at = now()`;
    const rows = await context.sql`
      update ${identifier(table)} t set player_id = ${keptId}${time}
      where t.property_id = ${context.property.id} and t.player_id = ${duplicateId}`;
    moved[table] = rows.count;
  }
  const { count } = await context.sql`
    update validation_results set player_id = ${keptId}
    where property_id = ${context.property.id} and player_id = ${duplicateId}`;
  moved.validation_results = count;
  const found = Object.entries(moved).filter(([, rows]) => rows > 0);
  return { moved: Object.fromEntries(found), cancelled, ended };
}

async function dropDoubles({ sql, property }: Context, keptId: string, duplicateId: string): Promise<void> {
  const own = property.id;
  await sql`
    delete from segment_members m using segment_members k
    where m.property_id = ${own} and m.player_id = ${duplicateId} and k.property_id = ${own}
      and k.player_id = ${keptId} and k.segment_id = m.segment_id`;
  await sql`
    delete from player_devices d using player_devices k
    where d.property_id = ${own} and d.player_id = ${duplicateId} and k.property_id = ${own}
      and k.player_id = ${keptId} and k.device_hash = d.device_hash`;
  // One grant gives one ticket. A used ticket stays, because its play names it.
  await sql`
    delete from game_tickets t using game_tickets k
    where t.property_id = ${own} and t.player_id = ${duplicateId} and t.used_play_id is null
      and k.property_id = ${own} and k.player_id = ${keptId} and k.game_id = t.game_id and k.key = t.key`;
  await sql`
    update game_tickets t set key = t.key || ${` ${duplicateId}`}, updated_at = now()
    from game_tickets k
    where t.property_id = ${own} and t.player_id = ${duplicateId} and k.property_id = ${own}
      and k.player_id = ${keptId} and k.game_id = t.game_id and k.key = t.key`;
  // Nobody refers oneself, and a person is referred once.
  const both = sql`(${keptId}::uuid, ${duplicateId}::uuid)`;
  await sql`
    delete from share_referrals r
    where r.property_id = ${own} and r.player_id in ${both} and r.referred_id in ${both}`;
  await sql`
    delete from share_referrals r using share_referrals k
    where r.property_id = ${own} and r.referred_id = ${duplicateId} and k.property_id = ${own}
      and k.referred_id = ${keptId}`;
  await sql`
    update share_referrals set referred_id = ${keptId}, updated_at = now()
    where property_id = ${own} and referred_id = ${duplicateId}`;
}

async function moveEnrollments(context: Context, keptId: string, duplicateId: string): Promise<number> {
  const own = context.property.id;
  const rows = await context.sql`
    with clock as materialized (
      select now() as moment
    ), last as materialized (
      select journey_id, entry_key, max(entry) as entry from journey_enrollments
      where property_id = ${own} and player_id = ${keptId} group by 1, 2
    ), due as materialized (
      select e.id, e.entry + coalesce(l.entry, 0) as entry from journey_enrollments e
        left join last l on l.journey_id = e.journey_id and l.entry_key = e.entry_key
      where e.property_id = ${own} and e.player_id = ${duplicateId}
    )
    update journey_enrollments e set player_id = ${keptId}, entry = due.entry, updated_at = clock.moment
    from due, clock where e.property_id = ${own} and e.id = due.id`;
  return rows.count;
}

/** A play's seed comes from the player who drew it: the play keeps that id, and so it can be computed again. */
async function movePlays({ sql, property }: Context, keptId: string, duplicateId: string): Promise<number> {
  const rows = await sql`
    with clock as materialized (select now() as moment)
    update game_plays y set player_id = ${keptId}, drawn_for = coalesce(y.drawn_for, ${duplicateId}::uuid),
      updated_at = clock.moment
    from clock where y.property_id = ${property.id} and y.player_id = ${duplicateId}`;
  return rows.count;
}

/**
 * The kept player has both records' plays in the limits of each game. The numbers of the plays stay each record's own,
 * because the seeds come from them.
 */
async function moveStandings({ sql, property }: Context, keptId: string, duplicateId: string): Promise<void> {
  const own = property.id;
  await sql`
    with moved as materialized (
      select game_id, plays, today, day, last_played_at, wins from game_standings
      where property_id = ${own} and player_id = ${duplicateId}
    ), kept as materialized (
      select game_id, plays, today, day, last_played_at, wins from game_standings
      where property_id = ${own} and player_id = ${keptId}
    ), merged as materialized (
      select m.game_id, m.plays + coalesce(k.plays, 0) as plays, greatest(m.day, k.day) as day,
        case when m.day = greatest(m.day, k.day) then m.today else 0 end
          + case when k.day = greatest(m.day, k.day) then k.today else 0 end as today,
        greatest(m.last_played_at, k.last_played_at) as last_played_at,
        (select coalesce(jsonb_object_agg(w.prize, w.won), '{}') from (
          select prize, sum(won::int) as won
          from (select * from jsonb_each_text(m.wins) union all select * from jsonb_each_text(k.wins)) e(prize, won)
          group by prize) w) as wins
      from moved m left join kept k on k.game_id = m.game_id
    )
    insert into game_standings (property_id, player_id, game_id, plays, today, day, last_played_at, wins)
    select ${own}::uuid, ${keptId}::uuid, game_id, plays, today, day, last_played_at, wins from merged
    on conflict (property_id, player_id, game_id) do update
      set plays = excluded.plays, today = excluded.today, day = excluded.day,
        last_played_at = excluded.last_played_at, wins = excluded.wins`;
  await sql`delete from game_standings where property_id = ${own} and player_id = ${duplicateId}`;
}
