import { z } from "zod";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { SOURCES } from "./tickets/grant.ts";

export default table({
  name: "game_tickets",
  noun: "game_ticket",
  verbs: ["list", "get"],
  description: "A ticket lets a player play a game once. grant_game_tickets, journeys and referrals give it.",
  columns: {
    game_id: readable(z.uuid(), { concise: true }),
    player_id: readable(z.uuid(), { concise: true }),
    source: readable(z.enum(SOURCES), { concise: true }),
    source_id: readable(
      z.uuid().nullable().describe("The journey, campaign, share or play that gave the ticket"),
    ),
    key: readable(z.string().describe("Two grants with one key give one ticket")),
    expires_at: readable(timestamp().nullable(), { concise: true }),
    used_play_id: readable(z.uuid().nullable(), { concise: true }),
  },
});
