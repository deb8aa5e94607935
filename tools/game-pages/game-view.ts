import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { TYPES } from "#tools/games/game/columns.ts";
import type { Game } from "#tools/games/game/game.ts";
import { PLAY_STATUSES } from "#tools/games/play/columns.ts";
import { KINDS } from "#tools/games/prize/columns.ts";
import { prizesOf } from "#tools/games/prize/prize.ts";
import { GAME_STATUSES } from "#tools/statuses/games.ts";

/** A prize as a player sees it: its weight is in the rules, never in the page's data. */
export const ShownPrize = z.object({
  id: z.uuid(),
  label: z.string(),
  kind: z.enum(KINDS),
  value: z.number().describe("In dollars"),
  slice_index: z.int().nullable(),
});
export type ShownPrize = z.output<typeof ShownPrize>;

export const ShownGame = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum(TYPES),
  status: z.enum(GAME_STATUSES),
  ends_at: timestamp().nullable(),
  rules_text: z.string().nullable(),
  rules_url: z.string().nullable(),
  free_entry_url: z.string().nullable(),
  own_free_entry: z.boolean(),
  odds_published: z.boolean(),
  prizes: z.array(ShownPrize).describe("In the order of the draw"),
});
export type ShownGame = z.output<typeof ShownGame>;

export const ShownPlay = z.object({
  id: z.uuid(),
  nonce: z.int().describe("The number of the player's play in this game"),
  outcome: z.enum(["win", "lose"]),
  status: z.enum(PLAY_STATUSES),
  label: z.string().nullable().describe("Of the prize; null where the play won nothing"),
  played_at: timestamp(),
});
export type ShownPlay = z.output<typeof ShownPlay>;

/** A game as its page shows it. */
export async function shownGame(context: Context, game: Game): Promise<ShownGame> {
  const { id, name, description, type, status, ends_at } = game;
  const { rules_text, rules_url, free_entry_url, own_free_entry, odds_published } = game;
  const found = await prizesOf(context, id);
  const prizes = found.map(({ id: prizeId, label, kind, value, slice_index }) => {
    return { id: prizeId, label, kind, value, slice_index };
  });
  const links = { rules_text, rules_url, free_entry_url, own_free_entry, odds_published };
  return { id, name, description, type, status, ends_at, ...links, prizes };
}

/** The player's last plays of a game, the newest first. */
export function playsOf(
  { sql, property }: Context,
  { gameId, playerId }: { gameId: string; playerId: string },
  most: number,
): Promise<ShownPlay[]> {
  return sql<ShownPlay[]>`
    select y.id, y.nonce, y.outcome, y.status, z.label, to_json(y.played_at) #>> '{}' as played_at
    from game_plays y left join game_prizes z on z.property_id = ${property.id} and z.id = y.prize_id
    where y.property_id = ${property.id} and y.player_id = ${playerId} and y.game_id = ${gameId}
    order by y.nonce desc limit ${most}`;
}
