import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { ticketAt } from "#tools/games/draw/deck.ts";
import { numberBelow } from "#tools/games/draw/number.ts";
import { type Odds, prizeAt } from "#tools/games/draw/odds.ts";
import type { Game } from "#tools/games/game/game.ts";
import type { Prize } from "#tools/games/prize/prize.ts";

/** The draw of one play. */
export interface Drawn {
  roll: number;
  /** The prize that the number names. */
  named: Prize;
  /** The prize that the player gets; null for none. */
  prize: Prize | null;
  deckTicket: number | null;
  /** The weights that were drawn from, where they were not the game's own. */
  snapshot: Odds | null;
}

/** The inputs of one draw. */
export interface Draw {
  prizes: readonly Prize[];
  master: Buffer;
  seed: Buffer;
  /** `client_seed:n`, before the cursor. */
  message: string;
  playerId: string;
  moment: string;
}

/** Draws a prize and takes it from the stock. */
export async function drawPrize(context: Context, game: Game, draw: Draw): Promise<Drawn> {
  return game.draw === "deck" ? drawTicket(context, game, draw) : drawNumber(context, game, draw);
}

async function drawTicket(context: Context, game: Game, draw: Draw): Promise<Drawn> {
  const { sql, property } = context;
  const odds = game.odds!;
  const [next] = await sql<{ position: number }[]>`
    update game_counts set next_ticket = next_ticket + 1
    where property_id = ${property.id} and game_id = ${game.id} and next_ticket < ${odds.denominator}
    returning next_ticket - 1 as position`;
  if (!next) throw new Fault("game_not_active", { message: "All tickets of the game are drawn." });
  const named = prizeOf(draw, ticketAt(draw.master, game.id, odds, next.position));
  const prize = named.kind === "no_prize" || !(await take(context, game, named, draw)) ? null : named;
  return { roll: next.position, named, prize, deckTicket: next.position + 1, snapshot: null };
}

async function drawNumber(context: Context, game: Game, draw: Draw): Promise<Drawn> {
  let odds = game.odds!;
  // Redistributing leaves one prize fewer each time.
  for (let tries = 0; ; tries += 1) {
    const message = tries === 0 ? draw.message : `${draw.message}:${tries}`;
    const roll = numberBelow(draw.seed, message, odds.denominator);
    const named = prizeOf(draw, prizeAt(odds, roll));
    const snapshot = tries === 0 ? null : odds;
    const drawn = { roll, named, deckTicket: null, snapshot };
    if (named.kind === "no_prize") return { ...drawn, prize: null };
    if (await take(context, game, named, draw)) return { ...drawn, prize: named };
    const left = without(odds, named.id);
    if (game.out_of_stock === "no_prize" || left === null) return { ...drawn, prize: null };
    odds = left;
  }
}

/** The odds without a prize; null where no other is left. */
export function without({ prizes }: Odds, prizeId: string): Odds | null {
  const left = prizes.filter(({ prize_id }) => prize_id !== prizeId);
  if (left.length === 0) return null;
  return { denominator: left.reduce((sum, { weight }) => sum + weight, 0), prizes: left };
}

function prizeOf({ prizes }: Draw, prizeId: string): Prize {
  return prizes.find(({ id }) => id === prizeId)!;
}

/** Takes one of a prize; false where none is left, or a limit keeps the player from it. */
async function take(context: Context, game: Game, prize: Prize, draw: Draw): Promise<boolean> {
  const { sql, property, emit } = context;
  if (prize.per_player_limit !== null || prize.daily_limit !== null) {
    if (!(await withinLimits(context, game, prize, draw))) return false;
  }
  if (prize.inventory_total === null) return true;
  const [left] = await sql<{ remaining: number }[]>`
    update game_prizes set inventory_remaining = inventory_remaining - 1
    where property_id = ${property.id} and id = ${prize.id} and inventory_remaining > 0
    returning inventory_remaining as remaining`;
  if (left?.remaining === 0) {
    const { id, game_id, label, kind } = prize;
    emit("game.prize_depleted", { id, game_id, label, kind });
  }
  return left !== undefined;
}

/** Locks the prize, so that no other win comes between the count and the play. */
async function withinLimits(
  { sql, property }: Context,
  game: Game,
  prize: Prize,
  { playerId, moment }: Draw,
): Promise<boolean> {
  await sql`
    select from game_prizes where property_id = ${property.id} and id = ${prize.id} for no key update`;
  const zone = game.reset_timezone ?? property.timezone;
  const [won] = await sql<[{ own: number; today: number }]>`
    select count(*) filter (where player_id = ${playerId})::int as own,
      count(*) filter (where played_at >= date_trunc('day', ${moment}::timestamptz at time zone ${zone})
        at time zone ${zone})::int as today
    from game_plays
    where property_id = ${property.id} and prize_id = ${prize.id} and outcome = 'win' and status <> 'voided'`;
  const none = Number.POSITIVE_INFINITY;
  return won.own < (prize.per_player_limit ?? none) && won.today < (prize.daily_limit ?? none);
}
