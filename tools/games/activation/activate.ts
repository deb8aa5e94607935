import type { Context } from "#runtime/operation/context.ts";
import { update } from "#runtime/operation/rows.ts";
import { approvalOf } from "#tools/approvals/approval.ts";
import { oddsOf } from "#tools/games/draw/odds.ts";
import { commitmentOf, newMaster } from "#tools/games/draw/seeds.ts";
import { tendLater } from "#tools/games/ending/tending.ts";
import type { Game } from "#tools/games/game/game.ts";
import games from "#tools/games/games.table.ts";
import type { Prize } from "#tools/games/prize/prize.ts";
import type { Facts } from "./facts.ts";
import { gamePrints } from "./prints.ts";

/** Freezes a locked draft: its seed, its odds, its rules and its stock. */
export async function activate(context: Context, game: Game, facts: Facts, prizes: readonly Prize[]) {
  const { sql, property, config } = context;
  const { master, sealed } = newMaster(config, property.id, game.id);
  const hash = commitmentOf(master);
  await sql`
    insert into game_seeds (property_id, game_id, master) values (${property.id}, ${game.id}, ${sealed}) returning 1`;
  await sql`insert into game_counts (property_id, game_id) values (${property.id}, ${game.id}) returning 1`;
  await sql`
    update game_prizes
    set inventory_total = case when ${game.draw === "deck"} and kind <> 'no_prize' then weight else inventory_total end,
      inventory_remaining = case when kind = 'no_prize' then null
        when ${game.draw === "deck"} then weight else inventory_total end
    where property_id = ${property.id} and game_id = ${game.id} returning 1`;
  // Its rules name them, so another setting of the property changes nothing for a game that is played.
  const fixed = {
    min_age: Math.max(game.min_age ?? 0, property.min_age),
    reset_timezone: game.reset_timezone ?? property.timezone,
  };
  const prints = await gamePrints(context, { ...game, ...fixed }, facts);
  const row = await update(context, games, game.id, {
    ...fixed,
    status: "active",
    activated_at: "now",
    server_seed_hash: hash,
    odds: oddsOf(prizes),
    rules_text: `${facts.rules_text}\nSHA-256 of the master seed: ${hash}`,
    approved: approvalOf(context, prints, { flags: [], count: null }),
    approved_state: prints,
  });
  tendLater(context, game.id, game.ends_at);
  context.audit({ entity: "games", entityId: game.id, diff: { server_seed_hash: hash } });
  return row;
}
