import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { Folder, Inbox, inboxOf, MOST_PAGES } from "./inbox.ts";

/** The inbox's page and the casino's app call it; their token names the property and the player. */
export default tool({
  name: "show_inbox",
  title: "Show a player's inbox",
  description:
    "Shows the messages of one player as the player sees them, without the expired, with the counts of unseen and unread ones.",
  scope: "read",
  effect: "read",
  access: "operator",
  input: {
    playerId: z.uuid().describe("From list_players"),
    folder: Folder.default("inbox").describe("archive: the messages that the player has put away"),
    page: z.int().min(1).max(MOST_PAGES).default(1).describe("Each page has 20 messages"),
    messageId: z.uuid().optional().describe("Only this message, from list_inbox_messages"),
  },
  output: Inbox,
  faults: ["not_found"],
  async handler(context, shelf) {
    const inbox = await inboxOf(context, shelf);
    if (shelf.messageId !== undefined && inbox.items.length === 0) throw new Fault("not_found");
    return inbox;
  },
});
