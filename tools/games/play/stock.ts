import { isSqlState } from "#db/connection/error-code.ts";
import { type Fragment, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { type Context, Stale } from "#runtime/operation/context.ts";
import { ticketAt } from "#tools/games/draw/deck.ts";
import { numberBelow } from "#tools/games/draw/number.ts";
import { type Odds, prizeAt } from "#tools/games/draw/odds.ts";
import type { PlayedGame } from "#tools/games/game/game.ts";
import type { StoredPrize } from "#tools/games/prize/prize.ts";
import type { Standing } from "./standing.ts";

/** The draw of one play. */
export interface Drawn {
  roll: number;
  /** The drawn prize. */
  named: StoredPrize;
  /** The prize that the player gets; null for none. */
  prize: StoredPrize | null;
  deckTicket: number | null;
  /** The weights that were drawn from, where they were not the game's own. */
  snapshot: Odds | null;
}

/** The inputs of one draw. */
export interface Draw {
  prizes: readonly StoredPrize[];
  master: Buffer;
  seed: Buffer;
  /** `client_seed:n`, before the cursor. */
  message: string;
  standing: Standing;
}

/** Draws a prize and takes it from the stock. */
export async function drawPrize(context: Context, game: PlayedGame, draw: Draw): Promise<Drawn> {
  return game.draw === "deck" ? drawTicket(context, game, draw) : drawNumber(context, game, draw);
}

async function drawTicket(context: Context, game: PlayedGame, draw: Draw): Promise<Drawn> {
  const { sql: transaction, property } = context;
  const odds = game.odds!;
  const [next] = await transaction<{ position: number }[]>`
    update game_counts set next_ticket = next_ticket + 1
    where property_id = ${property.id} and game_id = ${game.id} and next_ticket < ${odds.denominator}
    returning next_ticket - 1 as position`;
  if (!next) throw new Fault("game_not_active", { message: "All tickets of the game are drawn." });
  const named = prizeOf(draw, ticketAt(draw.master, game.id, odds, next.position));
  const prize = named.kind === "no_prize" || !(await take(context, named, draw)) ? null : named;
  return { roll: next.position, named, prize, deckTicket: next.position + 1, snapshot: null };
}

async function drawNumber(context: Context, game: PlayedGame, draw: Draw): Promise<Drawn> {
  let odds = game.odds!;
  // Redistributing leaves one prize fewer each time.
  for (let tries = 0; ; tries += 1) {
    const message = tries === 0 ? draw.message : `${draw.message}:${tries}`;
    const roll = numberBelow(draw.seed, message, odds.denominator);
    const named = prizeOf(draw, prizeAt(odds, roll));
    const snapshot = tries === 0 ? null : odds;
    const drawn = { roll, named, deckTicket: null, snapshot };
    if (named.kind === "no_prize") return { ...drawn, prize: null };
    if (await take(context, named, draw)) return { ...drawn, prize: named };
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

function prizeOf({ prizes }: Draw, prizeId: string): StoredPrize {
  return prizes.find(({ id }) => id === prizeId)!;
}

/** Takes one of a prize; false where none is left, or a limit keeps the player from it. */
async function take(context: Context, prize: StoredPrize, draw: Draw): Promise<boolean> {
  const { id, per_player_limit, daily_limit, inventory_total, inventory_remaining } = prize;
  const { wins, day } = draw.standing;
  if (per_player_limit !== null && (wins[id] ?? 0) >= per_player_limit) return false;
  if (inventory_total === null && daily_limit === null) return true;
  const left = Math.min(
    inventory_remaining ?? Number.POSITIVE_INFINITY,
    daily_limit === null
      ? Number.POSITIVE_INFINITY
      : daily_limit - (prize.won_on !== null && prize.won_on >= day ? prize.won_today : 0),
  );
  if (left <= 0) return false;
  if (left === 1 || !context.writeLast) return takeNow(context, prize, draw);
  const one = { propertyId: context.property.id, prizeId: id, day };
  context.writeLast(taken, one, { locks: true, isStale: isTakenByOthers });
  return true;
}

interface Taken {
  propertyId: string;
  prizeId: string;
  day: string;
}

// The row has the count of the newest day alone. A play whose day has passed meanwhile runs once more, in the new one; the
// second time it counts there in any case, and must not begin that count anew.
const newest = (day: string) => sql`greatest(won_on, ${day}::date)`;
const wonToday = (day: string) => sql`case when won_on >= ${day}::date then won_today else 0 end`;

/** Never takes the last one, nor one of a day that has passed: the columns' checks refuse -1, and the calls run again. */
function taken(all: Taken[]): Fragment[] {
  const wins = Map.groupBy(all, ({ prizeId, day }) => `${prizeId} ${day}`);
  return [...wins.keys()].sort().map((key) => {
    const those = wins.get(key)!;
    const { propertyId, prizeId, day } = those[0]!;
    const amount = sql`${those.length}::int`;
    const today = sql`${wonToday(day)} + ${amount}`;
    const isOpen = sql`${today} < daily_limit and (won_on is null or won_on <= ${day}::date)`;
    return sql`
      update game_prizes
      set inventory_remaining = case when inventory_remaining > ${amount} then inventory_remaining - ${amount}
          when inventory_total is not null then -1 end,
        won_on = ${newest(day)}, won_today = case when daily_limit is null or ${isOpen} then ${today} else -1 end
      where property_id = ${propertyId} and id = ${prizeId}`;
  });
}

const isTakenByOthers = (error: unknown) => isSqlState(error, "23514");

/** Locks the prize to the end of the transaction, so that no other win comes between. */
async function takeNow(
  { sql: transaction, property, emit, writeLast }: Context,
  { id, game_id, label, kind, daily_limit }: StoredPrize,
  { standing: { day } }: Draw,
): Promise<boolean> {
  const [left] = await transaction<{ remaining: number | null; won_on: string }[]>`
    update game_prizes
    set inventory_remaining = inventory_remaining - 1, won_on = ${newest(day)},
      won_today = ${wonToday(day)} + 1
    where property_id = ${property.id} and id = ${id} and (inventory_total is null or inventory_remaining > 0)
      and (daily_limit is null or ${wonToday(day)} < daily_limit)
    returning inventory_remaining as remaining, won_on`;
  if (left && left.won_on > day && daily_limit !== null && writeLast) throw new Stale();
  if (left?.remaining === 0) emit("game.prize_depleted", { id, game_id, label, kind });
  return left !== undefined;
}
