import { z } from "zod";
import { readable } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";

export default table({
  name: "audit_logs",
  noun: "audit_log",
  concise: ["actor_type", "actor_id", "client", "action", "entity", "entity_id", "diff", "created_at"],
  description: "An audit row says who did what, when and from where. Rows are never changed.",
  verbs: ["list", "get"],
  columns: {
    actor_type: readable(z.enum(["player", "user", "api_key", "system"])),
    actor_id: readable(z.uuid().nullable()),
    client: readable(z.string().nullable()),
    action: readable(z.string()),
    entity: readable(z.string().nullable()),
    entity_id: readable(z.uuid().nullable()),
    diff: readable(z.record(z.string(), z.unknown()).nullable()),
    ip: readable(z.string().nullable()),
    request_id: readable(z.string().nullable()),
    record_hash: readable(z.string(), "encode(record_hash, 'hex')"),
  },
});
