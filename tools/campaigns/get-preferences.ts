import { z } from "zod";
import { tool } from "#runtime/operation.ts";
import { Preference, preferencesOf } from "./preferences.ts";

/** Behind the link of a message. The page reads the link's token, which names the property and the send. */
export default tool({
  name: "get_preferences",
  title: "Get a recipient's preferences",
  description: "Says for the recipient of one message by which channels marketing may reach them now.",
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
