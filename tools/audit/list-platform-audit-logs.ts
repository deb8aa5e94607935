import { z } from "zod";
import { raw } from "#db/sql.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ACTOR_SQL, Actor } from "./actor.ts";

const AuditLog = z.object({
  id: z.uuid(),
  at: timestamp(),
  actor: Actor,
  client: z.string().nullable(),
  action: z.string(),
  entity: z.string().nullable(),
  entity_id: z.uuid().nullable(),
  diff: z.record(z.string(), z.unknown()).nullable(),
  ip: z.string().nullable(),
  request_id: z.string().nullable(),
  record_hash: z.string(),
});

export default tool({
  name: "list_platform_audit_logs",
  title: "List the platform's audit log",
  description:
    "Lists the audit rows that belong to no property: who did what to users, memberships and the installation, newest first. Rows are never changed. A property's rows are in its own audit_logs.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: {
    action: z.string().optional().describe("An operation's name, such as update_user"),
    entityId: z.uuid().optional().describe("The id of the changed record"),
    before: z.uuid().optional().describe("For the next page: the id of the last row of this one"),
    limit: z.int().min(1).max(1000).default(50).describe("Rows to return"),
  },
  output: z.object({ audit_logs: z.array(AuditLog) }),
  faults: ["invalid"],
  async handler({ sql }, { action, entityId, before, limit }) {
    const rows = await sql<z.output<typeof AuditLog>[]>`
      select id, created_at as at, ${raw(ACTOR_SQL)} as actor, client, action, entity, entity_id, diff, ip,
        request_id, encode(record_hash, 'hex') as record_hash
      from system_audit_logs
      where true ${action === undefined ? sql`` : sql`and action = ${action}`}
        ${entityId === undefined ? sql`` : sql`and entity_id = ${entityId}`}
        ${before === undefined ? sql`` : sql`and id < ${before}`}
      order by id desc limit ${limit}`;
    return { audit_logs: [...rows] };
  },
});
