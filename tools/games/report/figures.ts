import type { Tenant } from "#runtime/operation/context.ts";
import type { Game } from "#tools/games/game/game.ts";
import { prizesOf } from "#tools/games/prize/prize.ts";

interface Entry {
  plays: number;
  wins: number;
  value: number;
}

interface Totals {
  plays: number;
  players: number;
  wins: number;
  value_won: number;
  value_redeemed: number;
  by_entry: Record<string, Entry>;
  by_status: Record<string, number>;
  drawn: Record<string, { drawn: number; won: number }>;
  tickets: { granted: number; used: number };
}

/** The figures of a game's report. */
export async function figuresOf(tenant: Tenant, game: Game) {
  const { drawn, ...totals } = await totalsOf(tenant, game.id);
  const prizes = await prizesOf(tenant, game.id);
  const denominator = prizes.reduce((sum, { weight }) => sum + weight, 0);
  return {
    ...totals,
    prizes: prizes.map(({ id, label, weight, inventory_remaining }) => ({
      prize_id: id,
      label,
      odds: `${weight} in ${denominator}`,
      expected: (totals.plays * weight) / denominator,
      drawn: drawn[id]?.drawn ?? 0,
      won: drawn[id]?.won ?? 0,
      inventory_remaining,
    })),
  };
}

async function totalsOf({ sql, property }: Tenant, gameId: string): Promise<Totals> {
  const [totals] = await sql<[Totals]>`
    with played as (
      select * from game_plays where property_id = ${property.id} and game_id = ${gameId}
    ), entries as (
      select entry, count(*)::int as plays, (count(*) filter (where outcome = 'win'))::int as wins,
        coalesce(sum(value) filter (where outcome = 'win'), 0) as value
      from played group by entry
    ), statuses as (
      select status, count(*)::int as plays from played where outcome = 'win' group by status
    ), named as (
      select drawn_prize_id, count(*)::int as drawn, (count(*) filter (where prize_id = drawn_prize_id))::int as won
      from played group by drawn_prize_id
    )
    select count(*)::int as plays, count(distinct coalesce(player_id, anon_id))::int as players,
      (count(*) filter (where outcome = 'win'))::int as wins,
      coalesce(sum(value) filter (where outcome = 'win' and status <> 'voided'), 0) as value_won,
      coalesce(sum(value) filter (where status = 'redeemed'), 0) as value_redeemed,
      coalesce((select jsonb_object_agg(entry, jsonb_build_object('plays', plays, 'wins', wins, 'value', value))
        from entries), '{}') as by_entry,
      coalesce((select jsonb_object_agg(status, plays) from statuses), '{}') as by_status,
      coalesce((select jsonb_object_agg(drawn_prize_id, jsonb_build_object('drawn', drawn, 'won', won)) from named
        where drawn_prize_id is not null), '{}') as drawn,
      (select jsonb_build_object('granted', count(*), 'used', count(used_play_id)) from game_tickets
        where property_id = ${property.id} and game_id = ${gameId}) as tickets
    from played`;
  return totals;
}
