import { z } from "zod";
import { HASH_FORM, IP_FORM } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { type ColumnRules, table } from "#runtime/operation/table.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";

const CONSENT_ACTIONS = ["granted", "denied", "revoked", "expired"] as const;
export type ConsentAction = (typeof CONSENT_ACTIONS)[number];
export const CONSENT_LEVELS = ["express_written", "express", "implied"] as const;
export type ConsentLevel = (typeof CONSENT_LEVELS)[number];

const text = (rules?: ColumnRules) => readable(z.string().nullable(), rules);

export default table({
  name: "consent_records",
  noun: "consent_record",
  description:
    "A row of the consent ledger: a player granted, denied or revoked a channel, with time, source and wording. Rows are never changed; the last one of a channel counts, for voice the strongest consent since the last refusal.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid().nullable(), { concise: true }),
    anon_id: readable(z.uuid().nullable()),
    channel: readable(z.enum(CHANNELS), { concise: true }),
    action: readable(z.enum(CONSENT_ACTIONS), { concise: true }),
    consent_given: readable(z.boolean()),
    consent_level: readable(z.enum(CONSENT_LEVELS), { concise: true }),
    purpose: readable(z.string(), { vocabulary: true }),
    consent_source: text({ concise: true, vocabulary: true }),
    consent_text: text(),
    consent_text_sha256: text({ form: HASH_FORM }),
    consent_version: text({ concise: true, vocabulary: true }),
    collection_method: text({ vocabulary: true }),
    jurisdiction: text({ vocabulary: true }),
    ip_address: text({ form: IP_FORM }),
    user_agent: text(),
    address_hash: readable(z.string().nullable(), {
      form: HASH_FORM,
      sql: "encode(address_hash, 'hex')",
    }),
    occurred_at: readable(timestamp(), { concise: true }),
    recorded_at: readable(timestamp()),
    expires_at: readable(timestamp().nullable(), { concise: true }),
    actor_type: readable(z.enum(["player", "user", "api_key", "system"]), { concise: true }),
    actor_id: readable(z.uuid().nullable()),
    record_hash: readable(z.string(), { form: HASH_FORM, sql: "encode(record_hash, 'hex')" }),
    // Not concise, as it is of other tables: occurred_at matters.
    created_at: readable(timestamp()),
  },
});
