import { z } from "zod";
import { HASH_FORM, IP_FORM } from "#db/query/forms.ts";
import { readable } from "#runtime/operation/columns.ts";
import { table } from "#runtime/operation/table.ts";

const DAY = 86_400_000;

export default table({
  name: "audit_logs",
  noun: "audit_log",
  description: "An audit row records one action: who did what, when and from where. Rows are never changed.",
  monthly: { lag: DAY },
  verbs: ["list", "get"],
  columns: {
    actor_type: readable(z.enum(["player", "user", "api_key", "system"]), { concise: true }),
    actor_id: readable(z.uuid().nullable(), { concise: true }),
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
