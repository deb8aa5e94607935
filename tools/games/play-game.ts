import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { insertedValues, sql } from "#db/sql.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { enrollByPlay } from "#tools/enrollments/enroll.ts";
import { playerWords } from "#tools/people/words.ts";
import { commitmentOf, openMaster, playSeed } from "./draw/seeds.ts";
import type { Game } from "./game/game.ts";
import { checkEligible, lockEntrant } from "./play/entrant.ts";
import { checkActive, countPlay } from "./play/game-now.ts";
import { Proof, proofOf } from "./play/proof.ts";
import { readPlay } from "./play/reading.ts";
import { playsLeft, type Standing, wayIn } from "./play/standing.ts";
import { type Drawn, drawPrize } from "./play/stock.ts";
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
  },
  output: z.object({
    play_id: z.uuid(),
    outcome: z.enum(["win", "lose"]),
    prize: Won.nullable(),
    slice_index: z.int().nullable().describe("Where the wheel stops"),
    plays_remaining: z.int().nullable().describe("Null where nothing limits the plays"),
    proof: Proof,
  }),
  faults: ["invalid", "not_found", "not_eligible", "play_limit_reached", "game_not_active"],
  async handler(context, { gameId, playerId, clientSeed = ownSeed(context.call.requestId) }) {
    // One round trip: the second statement sees what was committed before the player's lock was this play's.
    const [player, { game, standing, master: sealed, prizes, opens }] = await Promise.all([
      lockEntrant(context, playerId),
      readPlay(context, gameId, playerId),
    ]);
    await checkEligible(context, game, player);
    checkActive(game, standing.moment);
    const entry = wayIn(game, standing);
    askBeforePlaying(context, game, playerId);
    const playId = randomUUIDv7();
    const ticket = entry === "ticket" ? standing.next : null;
    const master = openMaster(context.config, context.property.id, gameId, sealed!);
    const n = standing.nonce + 1;
    const seed = playSeed(master, { gameId, playerId, n });
    const { moment } = standing;
    const draw = { prizes, master, seed, message: `${clientSeed}:${n}`, playerId, moment };
    await Promise.all([countPlay(context, game), ticket && useTicket(context, ticket, playId)]);
    const drawn = await drawPrize(context, game, draw);
    const play = playOf({ playId, game, playerId, ticket, clientSeed, n, seed, moment, drawn });
    await context.sql`
      insert into game_plays ${insertedValues({ property_id: context.property.id, ...play })} returning 1`;
    if (opens) await enroll(context, play);
    announce(context, play, drawn.prize);
    const free = drawn.prize?.kind === "free_play" ? await grantFreePlay(context, game, playerId, playId) : 0;
    const after = {
      ...standing,
      plays: standing.plays + (ticket && game.cost.type === "free" ? 0 : 1),
      today: standing.today + (ticket && game.cost.type === "free" ? 0 : 1),
      tickets: standing.tickets - (ticket ? 1 : 0) + free,
    };
    const denominator = (drawn.snapshot ?? game.odds!).denominator;
    return {
      play_id: playId,
      outcome: play.outcome,
      prize: drawn.prize && wonPrize(drawn.prize, play.expires_at),
      slice_index: drawn.prize === null && drawn.named.kind !== "no_prize" ? null : drawn.named.slice_index,
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
function askBeforePlaying(context: Context, { name }: Game, playerId: string): void {
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

type Ticket = NonNullable<Standing["next"]>;

/** The player is locked, so nobody else takes the ticket. */
async function useTicket(
  { sql: transaction, property }: Context,
  { id }: Ticket,
  playId: string,
): Promise<void> {
  await transaction`
    update game_tickets set used_play_id = ${playId}, updated_at = now()
    where property_id = ${property.id} and id = ${id} returning 1`;
}

interface Played {
  playId: string;
  game: Game;
  playerId: string;
  ticket: Ticket | null;
  clientSeed: string;
  n: number;
  seed: Buffer;
  moment: string;
  drawn: Drawn;
}

const DAY_MS = 86_400_000;

function playOf({ playId, game, playerId, ticket, clientSeed, n, seed, moment, drawn }: Played) {
  const { prize, named } = drawn;
  const days = prize?.redeem_within_days ?? null;
  const isGiven = prize?.kind === "free_play";
  return {
    id: playId,
    game_id: game.id,
    player_id: playerId,
    prize_id: prize?.id ?? null,
    outcome: prize ? ("win" as const) : ("lose" as const),
    status: isGiven ? "redeemed" : "revealed",
    entry: ticket?.source ?? "open",
    ticket_id: ticket?.id ?? null,
    campaign_id: ticket?.source === "campaign" ? ticket.source_id : null,
    journey_id: ticket?.source === "journey" ? ticket.source_id : null,
    odds_snapshot: drawn.snapshot,
    drawn_prize_id: named.id,
    server_seed_hash: commitmentOf(seed),
    client_seed: clientSeed,
    nonce: n,
    roll: drawn.roll,
    deck_ticket: drawn.deckTicket,
    value: prize?.value ?? 0,
    expires_at: days === null || isGiven ? null : new Date(Date.parse(moment) + days * DAY_MS).toISOString(),
    redeemed_at: isGiven ? moment : null,
    played_at: moment,
  };
}

function grantFreePlay(context: Context, game: Game, playerId: string, playId: string): Promise<number> {
  return grantTickets(
    context,
    { gameId: game.id, source: "prize", sourceId: playId, expiresAt: null },
    sql`select ${playerId}::uuid as player_id, ${`prize:${playId}`}::text as key`,
  );
}

type Play = ReturnType<typeof playOf>;

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
