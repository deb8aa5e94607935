import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { holderOf, Preference, preferencesOf } from "./preferences.ts";

/** The preference page of a message's link calls it; the link's token names the property and the send. */
export default tool({
  name: "get_preferences",
  title: "Get a recipient's preferences",
  description:
    "Shows which channels are on for marketing now, for the recipient of one message or for one player.",
  scope: "read",
  effect: "read",
  access: "operator",
  input: {
    sendId: z.uuid().optional().describe("From list_campaign_sends"),
    playerId: z.uuid().optional().describe("Or a player, from list_players"),
  },
  output: z.object({ preferences: z.array(Preference) }),
  faults: ["invalid", "not_found"],
  async handler(context, input) {
    const { preferences } = await preferencesOf(context, holderOf(input));
    return { preferences };
  },
});
