import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { ROLES } from "#runtime/roles.ts";
import { UserRecord, userColumns } from "./user.ts";

const Membership = z.object({ property_id: z.uuid(), role: z.enum(ROLES) });

export default tool({
  name: "list_users",
  title: "List users",
  description: "Lists the users who can sign in, with their properties and roles.",
  scope: "read",
  effect: "read",
  access: "operator",
  realm: "system",
  input: {},
  output: z.object({ users: z.array(UserRecord.extend({ memberships: z.array(Membership) })) }),
  faults: [],
  async handler({ sql }) {
    const users = await sql<(UserRecord & { memberships: z.output<typeof Membership>[] })[]>`
      select ${userColumns(sql)}, coalesce((
        select jsonb_agg(jsonb_build_object('property_id', m.property_id, 'role', m.role) order by m.created_at)
        from memberships m where m.user_id = users.id), '[]') as memberships
      from users order by email`;
    return { users: [...users] };
  },
});
