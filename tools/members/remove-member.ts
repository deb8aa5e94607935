import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";
import { endSessions } from "#tools/users/user.ts";
import { keepAnAdmin, lockMember } from "./member.ts";

export default tool({
  name: "remove_member",
  title: "Remove a person from a property",
  description:
    "Ends a person's access to the property at once, with their open pages and sessions. Only an admin of the property may, and the last admin stays. API keys that they have made stay valid: the answer names them, and revoke_api_key ends them.",
  scope: "write",
  effect: "destroy",
  access: "admin",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    user_id: z.uuid().describe("From list_members"),
  },
  output: z.object({
    success: z.literal(true),
    email: z.email(),
    api_keys: z
      .array(z.object({ id: z.uuid(), name: z.string(), key_prefix: z.string() }))
      .describe("Valid keys of the property that this person has made"),
  }),
  faults: ["not_found", "conflict"],
  async handler({ sql, property, call, emit, audit }, { user_id }) {
    const member = await lockMember({ sql, property }, user_id);
    await keepAnAdmin({ sql, property }, member);
    await sql`delete from memberships where property_id = ${property.id} and user_id = ${user_id}`;
    // A link that is still open would let them in again.
    await sql`delete from invitations where property_id = ${property.id} and email = ${member.email}`;
    if (!(await worksElsewhere(sql, user_id))) await endSessions(sql, user_id);
    await directoryChanged(sql);
    const keys = await sql<{ id: string; name: string; key_prefix: string }[]>`
      select id, name, key_prefix from api_keys
      where property_id = ${property.id} and created_by = ${user_id} and is_active
        and (expires_at is null or expires_at > now())
      order by created_at, id`;
    emit("member.removed", { user_id, role: member.role, removed_by: call.actor.id });
    audit({ entity: "memberships", entityId: user_id, diff: { role: [member.role, null] } });
    return { success: true as const, email: member.email, api_keys: [...keys] };
  },
});

/** Sessions are of the account: those of a person with other properties go on there, and reach this one no more. */
async function worksElsewhere(sql: Sql, userId: string): Promise<boolean> {
  const found = await sql`
    select from users u where u.id = ${userId} and (u.is_platform_admin or exists (
      select from memberships m where m.user_id = u.id))`;
  return found.length > 0;
}
