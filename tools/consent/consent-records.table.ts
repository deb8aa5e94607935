import { z } from "zod";
import { readable, timestamp } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { CONSENT_ACTIONS, CONSENT_LEVELS } from "./ledger.ts";

const text = () => readable(z.string().nullable());

export default table({
  name: "consent_records",
  noun: "consent_record",
  concise: [
    "player_id",
    "channel",
    "action",
    "consent_level",
    "consent_source",
    "consent_version",
    "occurred_at",
    "expires_at",
    "actor_type",
  ],
  description:
    "The consent ledger: what each player granted, denied or revoked, when, where and in which words. Rows are never changed; the last one of a channel counts.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid().nullable()),
    anon_id: readable(z.uuid().nullable()),
    channel: readable(z.enum(CHANNELS)),
    action: readable(z.enum(CONSENT_ACTIONS)),
    consent_given: readable(z.boolean()),
    consent_level: readable(z.enum(CONSENT_LEVELS)),
    purpose: readable(z.string()),
    consent_source: text(),
    consent_text: text(),
    consent_text_sha256: text(),
    consent_version: text(),
    collection_method: text(),
    jurisdiction: text(),
    ip_address: text(),
    user_agent: text(),
    address_hash: readable(z.string().nullable(), "encode(address_hash, 'hex')"),
    occurred_at: readable(timestamp()),
    recorded_at: readable(timestamp()),
    expires_at: readable(timestamp().nullable()),
    actor_type: readable(z.enum(["player", "user", "api_key", "system"])),
    actor_id: readable(z.uuid().nullable()),
    record_hash: readable(z.string(), "encode(record_hash, 'hex')"),
  },
});
