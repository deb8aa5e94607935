import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { createOnly, readable, writable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { untilRefused } from "#runtime/together.ts";

export default table({
  name: "social_shares",
  noun: "social_share",
  description: "A social share is a game, an offer or a campaign that a player has shared on a network.",
  events: { create: "player.shared" },
  columns: {
    player_id: createOnly(z.uuid().describe("The player's id, from list_players")),
    network: createOnly(
      z.string().trim().min(1).max(60).toLowerCase().describe("The network, such as facebook, x or whatsapp"),
      { vocabulary: true },
    ),
    content_type: createOnly(z.enum(["game", "offer", "campaign"]).describe("The kind of the shared thing")),
    content_id: createOnly(z.string().trim().min(1).max(200).nullish().describe("Its id")),
    share_url: createOnly(
      z
        .url({ protocol: /^https?$/ })
        .max(2048)
        .nullish()
        .describe("The shared link"),
    ),
    clicks: writable(
      z.int().min(0).max(2_147_483_647).default(0).describe("Clicks of people on the link so far"),
    ),
    machine_clicks: readable(z.int().describe("Clicks of programs that look at links")),
  },
  async beforeWrites({ sql, property }, changes) {
    const ids = changes.flatMap(({ verb, input }) => (verb === "create" ? [input.player_id] : []));
    const found = await sql<{ id: string }[]>`
      select id from players
      where property_id = ${property.id} and id = any(${ids}::uuid[]) and deleted_at is null and status <> 'erased'
      order by id for key share`;
    const players = new Set(found.map(({ id }) => id));
    return untilRefused(changes, ({ verb, input }) => {
      if (verb !== "create" || players.has(input.player_id)) return input;
      throw new Fault("not_found", {
        message: `player_id: no player with the id ${input.player_id} in this property. See list_players.`,
      });
    });
  },
});
