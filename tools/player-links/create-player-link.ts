import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import type { Context } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findGame } from "#tools/games/game/game.ts";
import { askAgent } from "./ask-agent.ts";
import { PageName, PLAYER_PAGES, playerToken } from "./links.ts";
import { assertVisitor } from "./visitor.ts";

const HOUR = 3_600;
const MOST_HOURS = 30 * 24;

/** The free entry of a game is a part of its page. */
const Target = z.enum([...PageName.options, "free_entry"]);

export default tool({
  name: "create_player_link",
  title: "Make a link to a player's page",
  description:
    "Makes a signed link that opens one page for one player without sign-in, such as their inbox. Its holder sees what the player sees. It ends by itself, and with erasure or self-exclusion. Over MCP a link by which its holder plays or agrees for the player is confirmed first.",
  scope: "write",
  effect: "create",
  asks: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid().optional().describe("Default: the credential's property"),
    playerId: z.uuid().describe("From list_players"),
    to: Target.describe("The page that the link opens"),
    gameId: z
      .uuid()
      .optional()
      .describe("With to=game: only this game's page; default: the list of games. free_entry needs it"),
    ttl: z
      .int()
      .min(60)
      .max(MOST_HOURS * HOUR)
      .default(24 * HOUR)
      .describe("Seconds until the link ends, at most 30 days"),
  },
  output: z.object({ url: z.url(), player_id: z.uuid(), to: Target, expires_at: z.iso.datetime() }),
  status: 201,
  secrets: ["url"],
  faults: ["invalid", "forbidden", "not_found"],
  async handler(context, { playerId, to, gameId, ttl }) {
    const { property, config, call, audit, now } = context;
    refuseMasked(call, "the player's page shows it");
    const page = to === "free_entry" ? "game" : to;
    const below = await gamePath(context, to, gameId);
    const { id } = await assertVisitor(context, page, playerId);
    askAgent(context, page, id);
    const until = Math.floor(now() / 1000) + ttl;
    const token = playerToken(config, page, { propertyId: property.id, playerId: id, until });
    audit({ entity: "players", entityId: id, diff: { to, ttl } });
    return {
      url: `${config.baseUrl}${PLAYER_PAGES[page].path}/${token}${below}`,
      player_id: id,
      to,
      expires_at: new Date(until * 1000).toISOString(),
    };
  },
});

/** The part of the address that names a game. */
async function gamePath(
  context: Context,
  to: z.output<typeof Target>,
  gameId: string | undefined,
): Promise<string> {
  if (gameId === undefined) {
    if (to === "free_entry") throw invalid("gameId", "is needed with to=free_entry");
    return "";
  }
  if (to !== "game" && to !== "free_entry") throw invalid("gameId", "goes with to=game or to=free_entry");
  const game = await findGame(context, gameId);
  if (to === "game") return `/${gameId}`;
  if (!game.own_free_entry) throw invalid("gameId", "has no free entry of ours; see its free_entry_url");
  return `/${gameId}/free`;
}
