import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { Preference, preferencesOf } from "./preferences.ts";

/** The preference page of a message's link calls it; the link's token names the property and the send. */
export default tool({
  name: "get_preferences",
  title: "Get a recipient's preferences",
  description: "Shows for the recipient of one message which channels are on for marketing now.",
  scope: "read",
  effect: "read",
  access: "operator",
  input: { sendId: z.uuid().describe("From list_campaign_sends") },
  output: z.object({ preferences: z.array(Preference) }),
  faults: ["not_found"],
  async handler(context, { sendId }) {
    const { preferences } = await preferencesOf(context, sendId);
    return { preferences };
  },
});
