import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { requirePlayer } from "./player.ts";
import { ConsentLanguage, PushState, pushState } from "./push-page.ts";

/** The subscription page and the casino's app call it; their token names the property and the player. */
export default tool({
  name: "show_push",
  title: "Show a player's web push",
  description:
    "Shows whether web push is on for one player, with the public key and the consent text that a browser's subscription needs. The property's first call makes its keys.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    propertyId: z.uuid().optional().describe("Default: the credential's property"),
    playerId: z.uuid().describe("From list_players"),
    language: ConsentLanguage,
  },
  output: PushState,
  faults: ["not_found"],
  async handler(context, { playerId, language }) {
    await requirePlayer(context, playerId);
    return pushState(context, playerId, language);
  },
});
