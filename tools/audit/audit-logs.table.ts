import { z } from "zod";
import { HASH_FORM, IP_FORM } from "#db/query/forms.ts";
import { readable, timestamp } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";
import { ACTOR_SQL, Actor } from "./actor.ts";

const DAY = 86_400_000;

export default table({
  name: "audit_logs",
  noun: "audit_log",
  description: "An audit row records one action: who did what, when and from where. Rows are never changed.",
  monthly: { lag: DAY, at: "at" },
  verbs: ["list", "get"],
  columns: {
    at: readable(timestamp(), { concise: true, sql: "created_at" }),
    actor: readable(Actor, { concise: true, sql: ACTOR_SQL, keys: ["type", "id"] }),
    client: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    action: readable(z.string(), { concise: true, vocabulary: true }),
    entity: readable(z.string().nullable(), { concise: true, vocabulary: true }),
    entity_id: readable(z.uuid().nullable(), { concise: true }),
    diff: readable(z.record(z.string(), z.unknown()).nullable(), { concise: true }),
    ip: readable(z.string().nullable(), { form: IP_FORM }),
    request_id: readable(z.string().nullable()),
    record_hash: readable(z.string(), { form: HASH_FORM, sql: "encode(record_hash, 'hex')" }),
  },
});
