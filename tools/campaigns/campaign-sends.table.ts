import { z } from "zod";
import { formOfValues, HASH_FORM } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { type ColumnRules, table } from "#runtime/operation/table.ts";
import { BLOCK_REASONS } from "#tools/compliance/gate.ts";
import { DEFER_REASONS } from "#tools/compliance/hours.ts";
import { EXIT_REASONS } from "#tools/enrollments/exit-reasons.ts";
import { SENT_BY_FORM } from "#tools/people/address.ts";
import { SEND_STATUSES } from "#tools/statuses/sends.ts";

const time = (rules?: ColumnRules) => readable(timestamp().nullable(), rules);
const text = (rules?: ColumnRules) => readable(z.string().nullable(), rules);

/** Reasons of campaigns and of vendors why a message is skipped, beside those of the gate and of journeys. */
const OWN_REASONS = ["ab_test", "address_changed", "duplicate_address", "expired", "holdout", "simulated"];
const SKIP_REASONS = new Set([
  ...OWN_REASONS,
  ...[BLOCK_REASONS, DEFER_REASONS, EXIT_REASONS].flatMap((reasons) => Object.keys(reasons)),
]);

export default table({
  name: "campaign_sends",
  noun: "campaign_send",
  description:
    "One row a recipient of a campaign: the state of the message, and every reason why a recipient was skipped.",
  verbs: ["list", "get"],
  columns: {
    campaign_id: readable(z.uuid().nullable(), { concise: true }),
    journey_id: readable(z.uuid().nullable().describe("Of a journey's message")),
    node_id: text({ vocabulary: true }),
    player_id: readable(z.uuid().nullable(), { concise: true }),
    channel: readable(z.string(), { concise: true, form: SENT_BY_FORM }),
    variant_id: readable(
      z
        .string()
        .nullable()
        .describe("Of the campaign's ab_test; null while the recipient waits for the winner"),
    ),
    status: readable(z.enum(SEND_STATUSES), { concise: true }),
    skip_reasons: readable(z.array(z.string()), { concise: true, form: formOfValues([...SKIP_REASONS]) }),
    address_hash: readable(
      z.string().nullable().describe("As in suppressions; null once the player is erased"),
      { form: HASH_FORM, sql: "encode(address_hash, 'hex')" },
    ),
    address_masked: text({ concise: true }),
    provider: text({ concise: true, vocabulary: true }),
    provider_id: readable(z.uuid().nullable()),
    provider_message_id: text(),
    dedupe_key: readable(z.string().describe("Unique in a property: one address gets one copy"), {
      form: HASH_FORM,
      sql: "encode(dedupe_key, 'hex')",
    }),
    scheduled_for: time({ concise: true }),
    attempts: readable(z.int()),
    segments: readable(z.int().nullable().describe("The billed segments of a text message")),
    error_code: text({ concise: true, vocabulary: true }),
    error_message: text({ concise: true }),
    sent_at: time({ concise: true }),
    delivered_at: time({ concise: true }),
    opened_at: time(),
    first_human_open_at: readable(
      timestamp().nullable().describe("The first opening that seems to come from a person"),
    ),
    opens: readable(z.int()),
    clicked_at: time(),
    first_human_click_at: readable(timestamp().nullable()),
    clicks: readable(z.int()),
    bounced_at: time(),
    bounce_type: readable(z.enum(["hard", "soft"]).nullable()),
    test_of: readable(
      z.uuid().nullable().describe("The campaign of a test message; its figures do not count the test"),
    ),
    complained_at: time(),
    unsubscribed_at: time(),
    converted_at: time(),
    redeemed_at: time(),
  },
});
