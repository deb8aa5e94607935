import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { noUser } from "./user.ts";

export const MembershipView = z.object({
  id: z.uuid(),
  property_id: z.uuid(),
  user_id: z.uuid(),
  role: z.enum(["admin", "manager", "analyst"]),
  created_at: timestamp(),
});

type MembershipView = z.output<typeof MembershipView>;

export default tool({
  name: "grant_membership",
  title: "Let a user work in a property",
  description:
    "Gives a user a role in a property, or changes their role. analyst reads; manager and admin also write.",
  scope: "write",
  effect: "change",
  access: "operator",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    user_id: z.uuid().describe("From list_users"),
    role: z.enum(["admin", "manager", "analyst"]).describe("analyst reads; manager and admin also write"),
  },
  output: MembershipView,
  faults: ["not_found"],
  async handler({ sql, property, audit }, { user_id, role }) {
    const users = await sql<{ name: string | null }[]>`select name from users where id = ${user_id}`;
    if (users.length === 0) throw noUser(user_id);
    const [row] = await sql<MembershipView[]>`
      insert into memberships (property_id, user_id, role, name)
      values (${property.id}, ${user_id}, ${role}, ${users[0]!.name})
      on conflict (property_id, user_id) do update set role = excluded.role, updated_at = excluded.updated_at
      returning id, property_id, user_id, role, created_at`;
    await directoryChanged(sql);
    audit({ entity: "memberships", entityId: row!.id });
    return row!;
  },
});
