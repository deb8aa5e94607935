import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { sql } from "#db/sql.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { enrollByPlay } from "#tools/enrollments/enroll.ts";
import { playerWords } from "#tools/people/words.ts";
import { openMaster, playSeed } from "./draw/seeds.ts";
import type { PlayedGame } from "./game/game.ts";
import { admitted } from "./play/admission.ts";
import { Proof, proofOf } from "./play/proof.ts";
import { playsLeft, standingAfter } from "./play/standing.ts";
import { drawPrize } from "./play/stock.ts";
import { type Play, playOf, store } from "./play/store.ts";
import { TELL_WINNER } from "./play/tell-winner.ts";
import { KINDS } from "./prize/columns.ts";
import type { Prize } from "./prize/prize.ts";
import { grantTickets } from "./tickets/grant.ts";

const Won = z.object({
  id: z.uuid(),
  label: z.string(),
  kind: z.enum(KINDS),
  value: z.number().describe("In dollars"),
  slice_index: z.int().nullable(),
  redeem_by: timestamp().nullable(),
});

export default tool({
  name: "play_game",
  title: "Play a game",
  description:
    "Plays a game once for a player. The service draws the prize, and answers it with the proof. claim_game_prize comes next. Over MCP it is confirmed first, because it takes a play of the player's. The same Idempotency-Key gives the same prize.",
  scope: "write",
  effect: "create",
  asks: true,
  property: "propertyId",
  input: {
    gameId: z.uuid().describe("From list_games"),
    playerId: z.uuid().describe("From list_players"),
    propertyId: z.uuid(),
    clientSeed: z
      .string()
      .regex(/^[\x21-\x39\x3b-\x7e]{1,100}$/, "must be up to 100 visible ASCII characters, no colon")
      .optional()
      .describe("The player's own part of the draw. Default: the request's id"),
    nonce: z
      .int()
      .min(1)
      .optional()
      .describe("The number of the play, from check_game_play: a press that is sent twice is then one play"),
  },
  output: z.object({
    play_id: z.uuid(),
    outcome: z.enum(["win", "lose"]),
    prize: Won.nullable(),
    slice_index: z.int().nullable().describe("Where the wheel stops"),
    plays_remaining: z.int().nullable().describe("Null where nothing limits the plays"),
    proof: Proof,
  }),
  // Plays of one game share a commit, and the lock of a prize that many win. A player's plays come one after another.
  sharing: ({ gameId, playerId }) => ({ name: gameId, one: playerId }),
  faults: ["invalid", "not_found", "conflict", "not_eligible", "play_limit_reached", "game_not_active"],
  async handler(context, { gameId, playerId, nonce, clientSeed = ownSeed(context.call.requestId) }) {
    const { game, standing, sealed, prizes, opens, entry } = await admitted(context, {
      gameId,
      playerId,
      nonce,
    });
    askBeforePlaying(context, game, playerId);
    const playId = randomUUIDv7();
    const ticket = entry === "ticket" ? standing.next : null;
    const master = openMaster(context.config, context.property.id, gameId, sealed!);
    const n = standing.nonce + 1;
    const seed = playSeed(master, { gameId, playerId, n });
    const draw = { prizes, master, seed, message: `${clientSeed}:${n}`, standing };
    const drawn = await drawPrize(context, game, draw);
    const { moment } = standing;
    const play = playOf({ playId, game, playerId, ticket, clientSeed, n, seed, moment, drawn });
    const { prize } = drawn;
    const stood = standingAfter(standing, {
      counts: ticket === null || game.cost.type !== "free",
      limitedPrizeId: prize?.per_player_limit ? prize.id : null,
    });
    await store(context, play, stood);
    if (opens) await enroll(context, play);
    announce(context, play, prize);
    const free = prize?.kind === "free_play" ? await grantFreePlay(context, game, playerId, playId) : 0;
    const after = { ...stood, tickets: standing.tickets - (ticket ? 1 : 0) + free };
    const denominator = (drawn.snapshot ?? game.odds!).denominator;
    return {
      play_id: playId,
      outcome: play.outcome,
      prize: prize && wonPrize(prize, play.expires_at),
      slice_index: prize === null && drawn.named.kind !== "no_prize" ? null : drawn.named.slice_index,
      plays_remaining: playsLeft(game, after),
      proof: proofOf(
        game,
        { seed, clientSeed, number: drawn.roll, denominator },
        { master, number: { gameId, playerId, n: n + 1 } },
      ),
    };
  },
});

/** An agent is not the player. Nobody sees a draw before it counts: else an agent could draw until it wins. */
function askBeforePlaying(context: Context, { name }: PlayedGame, playerId: string): void {
  const { transport, review } = context.call;
  if (transport !== "mcp" && review !== "approved") return;
  context.ask?.({
    sentences: async () => [
      `Plays ${JSON.stringify(name)} once for ${await playerWords(context, playerId)}. The draw counts, and takes a play of theirs. Players play by themselves with a link of create_player_link.`,
    ],
    conceals: true,
  });
}

const ownSeed = (requestId: string) => requestId.replace(/[^\x21-\x39\x3b-\x7e]/g, "-").slice(0, 100);

function grantFreePlay(
  context: Context,
  game: PlayedGame,
  playerId: string,
  playId: string,
): Promise<number> {
  return grantTickets(
    context,
    { gameId: game.id, source: "prize", sourceId: playId, expiresAt: null },
    sql`select ${playerId}::uuid as player_id, ${`prize:${playId}`}::text as key`,
  );
}

function enroll(context: Context, { id, game_id, player_id, outcome }: Play): Promise<void> {
  return enrollByPlay(context, { playId: id, gameId: game_id, playerId: player_id, outcome });
}

function announce(context: Context, play: Play, prize: Prize | null): void {
  const { id, game_id, player_id, prize_id, outcome, entry, value, played_at } = play;
  const event = { id, game_id, player_id, prize_id, outcome, entry, played_at };
  context.emit("game.played", event);
  if (prize) context.emit("game.prize_won", { ...event, label: prize.label, kind: prize.kind, value });
  // A free play is a ticket, which the player has at once.
  if (prize && prize.kind !== "free_play") context.enqueue(TELL_WINNER, { playId: id }, { dedupe: id });
  context.audit({ entity: "game_plays", entityId: id });
}

function wonPrize({ id, label, kind, value, slice_index }: Prize, redeem_by: string | null) {
  return { id, label, kind, value, slice_index, redeem_by };
}
