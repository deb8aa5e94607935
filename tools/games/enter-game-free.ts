import { z } from "zod";
import { sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findGame } from "./game/game.ts";
import { checkEligible, lockEntrant } from "./play/entrant.ts";
import { checkActive } from "./play/game-now.ts";
import { grantTickets } from "./tickets/grant.ts";

export default tool({
  name: "enter_game_free",
  title: "Enter a game free of charge",
  description:
    "Gives a player the free ticket of the day for a game with own_free_entry. Its odds are those of every other ticket, and its plays are counted apart.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    gameId: z.uuid().describe("From list_games"),
    playerId: z.uuid().describe("From list_players"),
    propertyId: z.uuid(),
  },
  output: z.object({
    success: z.literal(true),
    granted: z.boolean().describe("False where the player has had the ticket of the day"),
  }),
  faults: ["not_found", "not_eligible", "game_not_active"],
  async handler(context, { gameId, playerId }) {
    const player = await lockEntrant(context, playerId);
    const game = await findGame(context, gameId, { lock: "share" });
    await checkEligible(context, game, player);
    checkActive(game, new Date(context.now()).toISOString());
    if (!game.own_free_entry) {
      throw new Fault("game_not_active", {
        message: "The game has no free entry here. See its free_entry_url.",
      });
    }
    const zone = game.reset_timezone ?? context.property.timezone;
    const day = new Date(context.now()).toLocaleDateString("sv-SE", { timeZone: zone });
    const grant = { gameId, source: "free_entry", sourceId: null, expiresAt: null } as const;
    const granted = await grantTickets(
      context,
      grant,
      sql`select ${playerId}::uuid as player_id, ${`free_entry:${day}`}::text as key`,
    );
    context.audit({ entity: "games", entityId: gameId });
    return { success: true as const, granted: granted > 0 };
  },
});
