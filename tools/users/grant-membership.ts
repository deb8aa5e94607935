import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { ROLES } from "#runtime/roles.ts";
import { noUser } from "./user.ts";

const MembershipView = z.object({
  id: z.uuid(),
  property_id: z.uuid(),
  user_id: z.uuid(),
  role: z.enum(ROLES),
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
  asks: true,
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    user_id: z.uuid().describe("From list_users"),
    role: z.enum(ROLES).describe("analyst reads; manager and admin also write"),
  },
  output: MembershipView,
  faults: ["not_found"],
  async handler({ sql, property, audit, ask }, { user_id, role }) {
    const [user] = await sql<{ name: string | null; email: string }[]>`
      select name, email from users where id = ${user_id}`;
    if (!user) throw noUser(user_id);
    ask?.({ sentences: () => [`${user.email} is ${role} of ${JSON.stringify(property.name)} from now on.`] });
    const [row] = await sql<MembershipView[]>`
      insert into memberships (property_id, user_id, role, name)
      values (${property.id}, ${user_id}, ${role}, ${user.name})
      on conflict (property_id, user_id) do update set role = excluded.role, updated_at = excluded.updated_at
      returning id, property_id, user_id, role, created_at`;
    await directoryChanged(sql);
    audit({ entity: "memberships", entityId: row!.id });
    return row!;
  },
});
