import { z } from "zod";
import { readable, timestamp } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";

const time = () => readable(timestamp().nullable());
const text = () => readable(z.string().nullable());

export const SEND_STATUSES = [
  "pending",
  "deferred",
  "sending",
  "sent",
  "delivered",
  "bounced",
  "failed",
  "skipped",
  "cancelled",
  "unknown",
] as const;

export default table({
  name: "campaign_sends",
  noun: "campaign_send",
  concise: [
    "campaign_id",
    "player_id",
    "channel",
    "status",
    "skip_reasons",
    "address_masked",
    "provider",
    "scheduled_for",
    "error_code",
    "error_message",
    "sent_at",
    "delivered_at",
    "created_at",
  ],
  description:
    "One row a recipient of a campaign: what became of the message, and every reason why a recipient was skipped.",
  verbs: ["list", "get"],
  columns: {
    campaign_id: readable(z.uuid().nullable()),
    player_id: readable(z.uuid().nullable()),
    channel: readable(z.string()),
    variant_id: readable(
      z.string().nullable().describe("Of the campaign's ab_test; null for who waits for the winner"),
    ),
    status: readable(z.enum(SEND_STATUSES)),
    skip_reasons: readable(z.array(z.string())),
    address_hash: readable(
      z.string().nullable().describe("As in suppressions; null once the player is erased"),
      "encode(address_hash, 'hex')",
    ),
    address_masked: text(),
    provider: text(),
    provider_id: readable(z.uuid().nullable()),
    provider_message_id: text(),
    dedupe_key: readable(
      z.string().describe("No two sends of a property have the same: one address gets one copy"),
      "encode(dedupe_key, 'hex')",
    ),
    scheduled_for: time(),
    attempts: readable(z.int()),
    segments: readable(z.int().nullable().describe("Of a text message: how many it is paid for as")),
    error_code: text(),
    error_message: text(),
    sent_at: time(),
    delivered_at: time(),
    opened_at: time(),
    first_human_open_at: readable(
      timestamp().nullable().describe("The first opening that no machine seems to have made"),
    ),
    opens: readable(z.int()),
    clicked_at: time(),
    first_human_click_at: readable(timestamp().nullable()),
    clicks: readable(z.int()),
    bounced_at: time(),
    bounce_type: readable(z.enum(["hard", "soft"]).nullable()),
    test_of: readable(
      z.uuid().nullable().describe("The campaign whose message was tested; its figures do not count it"),
    ),
    complained_at: time(),
    unsubscribed_at: time(),
    converted_at: time(),
  },
});
