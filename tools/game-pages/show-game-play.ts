import { z } from "zod";
import { Fault, noSuch } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { codeOf } from "#tools/games/claims/claim.ts";
import { findPlay, type Play } from "#tools/games/claims/play.ts";
import { findGame } from "#tools/games/game/game.ts";
import { PLAY_STATUSES } from "#tools/games/play/columns.ts";
import { mayPlay } from "#tools/games/tickets/grant.ts";
import { Verified, verifyPlay } from "#tools/games/verification/verify-play.ts";
import { ShownGame, ShownPrize, shownGame } from "./game-view.ts";

const GamePlay = z.object({
  game: ShownGame,
  play: z.object({
    id: z.uuid(),
    outcome: z.enum(["win", "lose"]),
    status: z.enum(PLAY_STATUSES),
    redeem_by: timestamp().nullable(),
    redeemed_at: timestamp().nullable(),
    played_at: timestamp(),
    redistributed: z.boolean().describe("A drawn prize was gone, and another one was drawn"),
  }),
  prize: ShownPrize.nullable(),
  position: z
    .int()
    .nullable()
    .describe("Where the wheel stops: the drawn prize among the game's prizes, from 0"),
  redemption_code: z.string().nullable().describe("Of a claimed prize"),
  verified: Verified,
});
export type GamePlay = z.output<typeof GamePlay>;

/** The games' pages call it; their token names the property and the player. */
export default tool({
  name: "show_game_play",
  title: "Show a player's play",
  description:
    "Shows one play as its player sees it: the prize, its code once it is claimed, and the proof of the draw.",
  scope: "read",
  effect: "read",
  access: "operator",
  input: { playerId: z.uuid().describe("From list_players"), playId: z.uuid().describe("From play_game") },
  output: GamePlay,
  secrets: ["redemption_code"],
  faults: ["not_found", "not_eligible", "conflict"],
  async handler(context, { playerId, playId }) {
    await refuseBarred(context, playerId);
    const play = await findPlay(context, playId);
    if (play.player_id !== playerId) throw noSuch("game play", playId);
    const stored = await findGame(context, play.game_id);
    const game = await shownGame(context, stored);
    const prize = game.prizes.find(({ id }) => id === play.prize_id) ?? null;
    const drawn = game.prizes.findIndex(({ id }) => id === play.drawn_prize_id);
    // A drawn prize that was gone stops the wheel nowhere: its slice would say that it was won.
    const stops = prize !== null || game.prizes[drawn]?.kind === "no_prize";
    const { id, outcome, status, expires_at: redeem_by, redeemed_at, played_at } = play;
    return {
      game,
      play: {
        id,
        outcome,
        status,
        redeem_by,
        redeemed_at,
        played_at,
        redistributed: play.odds_snapshot !== null,
      },
      prize,
      position: stops ? drawn : null,
      redemption_code: shownCode(context, play),
      verified: await verifyPlay(context, stored, play),
    };
  },
});

function shownCode(context: Context, play: Play): string | null {
  return play.status === "claimed" && play.code_sealed !== null ? codeOf(context, play) : null;
}

async function refuseBarred({ sql, property }: Context, playerId: string): Promise<void> {
  const [player] = await sql<{ may: boolean }[]>`
    select ${mayPlay(property.id)} as may from players p
    where p.property_id = ${property.id} and p.id = ${playerId}`;
  if (!player) throw noSuch("player", playerId);
  if (!player.may) throw new Fault("not_eligible", { message: "The player may see no game." });
}
