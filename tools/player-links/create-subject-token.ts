import { z } from "zod";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { tool } from "#runtime/operation/operation.ts";
import { askAgent } from "./ask-agent.ts";
import { PageName, subjectToken } from "./links.ts";
import { assertVisitor } from "./visitor.ts";

export default tool({
  name: "create_subject_token",
  title: "Make a subject token for the casino's own app",
  description:
    "Makes a token by which the casino's own app or site acts for one signed-in player, such as in <player-inbox>. The casino's server calls it after its own sign-in. It is valid for 15 minutes and for one page.",
  scope: "write",
  effect: "create",
  asks: true,
  property: "propertyId",
  input: {
    propertyId: z.uuid().optional().describe("Default: the credential's property"),
    playerId: z.uuid().describe("From list_players"),
    to: PageName.describe("The page whose data the token opens"),
  },
  output: z.object({ token: z.string(), player_id: z.uuid(), to: PageName, expires_at: z.iso.datetime() }),
  status: 201,
  secrets: ["token"],
  faults: ["forbidden", "not_found"],
  async handler(context, { playerId, to }) {
    const { property, config, call, audit, now } = context;
    refuseMasked(call, "the player's page shows it");
    const { id } = await assertVisitor(context, to, playerId);
    askAgent(context, to, id);
    audit({ entity: "players", entityId: id, diff: { to } });
    return {
      ...subjectToken(config, to, now(), { propertyId: property.id, playerId: id }),
      player_id: id,
      to,
    };
  },
});
