import { z } from "zod";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

const moment = (meaning: string) => readable(timestamp().nullable().describe(meaning), { concise: true });

export default table({
  name: "inbox_messages",
  noun: "inbox_message",
  description:
    "A message in a player's branded inbox, from a campaign of the channel loyaltyvip, or about a prize that a game has brought. The id is the campaign send's or the play's.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid(), { concise: true }),
    campaign_id: readable(z.uuid().nullable(), { concise: true }),
    journey_id: readable(z.uuid().nullable()),
    title: readable(z.string(), { concise: true, rendered: true }),
    body: readable(z.string(), { rendered: true }),
    category: readable(z.string().nullable(), { vocabulary: true }),
    image_url: readable(z.string().nullable()),
    cta_label: readable(z.string().nullable(), { rendered: true }),
    cta_url: readable(z.string().nullable(), { rendered: true }),
    priority: readable(z.int()),
    offer: readable(
      z.record(z.string(), z.unknown()).nullable().describe("Its type, value, code and expires_at"),
      { rendered: true },
    ),
    pinned: readable(z.boolean()),
    delivered_at: readable(timestamp(), { concise: true }),
    seen_at: moment("The player had it in view for a second"),
    read_at: moment("The player opened it"),
    clicked_at: moment("The player followed its button"),
    archived_at: moment("The player put it away"),
    expires_at: moment("The inbox shows it no longer"),
  },
});
