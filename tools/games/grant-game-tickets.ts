import { z } from "zod";
import { adHoc, sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { invalid, noSuch } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { namedPlayers } from "#tools/people/words.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { OPEN_GAMES } from "#tools/statuses/games.ts";
import { checkStatus, findGame } from "./game/game.ts";
import { grantTickets } from "./tickets/grant.ts";

const MOST_PLAYERS = 10_000;
const DEADLINE_MS = 30_000;

export default tool({
  name: "grant_game_tickets",
  title: "Grant tickets for a game",
  description:
    "Gives each of the players a ticket: one play of the game. By their ids, or by a segment. Players whom a status or an exclusion bars get none. The same key never gives a player a second one.",
  scope: "write",
  effect: "change",
  asks: true,
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    gameId: z.uuid().describe("From list_games"),
    propertyId: z.uuid(),
    playerIds: z.array(z.uuid()).min(1).max(MOST_PLAYERS).optional().describe("From list_players"),
    segmentId: z.uuid().optional().describe("From list_segments. Takes all its present players"),
    key: z.string().trim().min(1).max(200).describe("Names the grant, such as weekend-2026-48"),
    expiresAt: timestamp().optional().describe("Default: with the game"),
    campaignId: z.uuid().optional().describe("The campaign that the tickets come with"),
  },
  output: z.object({
    success: z.literal(true),
    granted: z.int(),
    left_out: z.int().describe("Barred, or they have the ticket already"),
  }),
  bulk: true,
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, { gameId, playerIds, segmentId, key, expiresAt, campaignId }) {
    if ((playerIds === undefined) === (segmentId === undefined)) {
      throw invalid("playerIds", "or segmentId: give one of them");
    }
    if (expiresAt !== undefined && Date.parse(expiresAt) <= context.now()) {
      throw invalid("expiresAt", "has passed, so nobody could use the tickets; give a later time");
    }
    if (campaignId !== undefined) await checkCampaign(context, campaignId);
    const game = await findGame(context, gameId, { lock: "share" });
    checkStatus(game, OPEN_GAMES, "get tickets");
    const { property } = context;
    const people = playerIds
      ? sql`select unnest(${[...new Set(playerIds)]}::uuid[]) as id`
      : adHoc(sql`
          select p.id from players p where p.property_id = ${property.id}::uuid
            and ${await audienceOf(context.sql, property.id, segmentId!)}`);
    const [given] = await context.sql<
      [{ people: number }]
    >`${sql`select count(*)::int as people from (${people}) w`}`;
    const grant = {
      gameId,
      source: campaignId ? ("campaign" as const) : ("manual" as const),
      sourceId: campaignId ?? null,
      expiresAt: expiresAt ?? null,
    };
    const wanted = sql`select w.id as player_id, ${key}::text as key from (${people}) w`;
    const granted = await grantTickets(context, grant, wanted);
    context.ask?.({
      sentences: async () => [
        `${counted(granted, "player gets", "players get")} a ticket for the game ${JSON.stringify(game.name)}: one play each.`,
        `${counted(given.people - granted, "is", "are")} left out: they are barred, or have the ticket ${JSON.stringify(key)} already.`,
        ...(playerIds ? [`The call names ${await namedPlayers(context, playerIds)}.`] : []),
      ],
    });
    context.audit({ entity: "games", entityId: gameId, diff: { granted } });
    return { success: true as const, granted, left_out: given.people - granted };
  },
});

/** Each play by such a ticket names the campaign. */
async function checkCampaign({ sql: transaction, property }: Tenant, id: string): Promise<void> {
  const found = await transaction`
    select from campaigns where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (found.length === 0) throw noSuch("campaign", id);
}
