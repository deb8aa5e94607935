import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { InvitationView, MemberView, openInvitations } from "./member.ts";

export default tool({
  name: "list_members",
  title: "List the people of a property",
  description: "Lists the people who work in a property with their roles, and the open invitations.",
  scope: "read",
  effect: "read",
  access: "manager",
  realm: "system",
  property: "property_id",
  input: { property_id: z.uuid().describe("From list_properties") },
  output: z.object({ members: z.array(MemberView), invitations: z.array(InvitationView) }),
  faults: [],
  async handler({ sql, property }) {
    const members = await sql<MemberView[]>`
      select m.user_id, u.email, m.name, m.role, m.created_at
      from memberships m join users u on u.id = m.user_id
      where m.property_id = ${property.id} order by u.email`;
    const invitations = await sql<InvitationView[]>`
      select id, email, name, role, created_at, expires_at from invitations
      where property_id = ${property.id} and ${openInvitations(sql)} order by email`;
    return { members: [...members], invitations: [...invitations] };
  },
});
