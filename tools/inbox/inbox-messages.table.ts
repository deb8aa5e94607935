import { z } from "zod";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

export default table({
  name: "inbox_messages",
  noun: "inbox_message",
  description:
    "A message in a player's branded inbox, from a campaign of the channel loyaltyvip. The id is the campaign send's.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid()),
    campaign_id: readable(z.uuid().nullable()),
    title: readable(z.string()),
    body: readable(z.string()),
    delivered_at: readable(timestamp()),
  },
});
