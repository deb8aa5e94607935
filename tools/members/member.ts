import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Call, Tenant } from "#runtime/operation/context.ts";
import { acts, ROLES } from "#runtime/roles.ts";

export const Role = z
  .enum(ROLES)
  .describe("analyst: reads. manager: also acts. admin: also manages people and limits");
export type Role = z.output<typeof Role>;

/** A person who works in the property, as the property knows them. Other properties of theirs are not shown. */
export const MemberView = z.object({
  user_id: z.uuid(),
  email: z.email(),
  name: z.string().nullable(),
  role: Role,
  created_at: timestamp(),
});
export type MemberView = z.output<typeof MemberView>;

/** An invitation that nobody has accepted yet. */
export const InvitationView = z.object({
  id: z.uuid(),
  email: z.email(),
  name: z.string().nullable(),
  role: Role,
  created_at: timestamp(),
  expires_at: timestamp().describe("The link in the mail is valid until then"),
});
export type InvitationView = z.output<typeof InvitationView>;

/** The member, locked, with all admins: two admins who leave at once wait for one another. Throws `not_found`. */
export async function lockMember({ sql, property }: Tenant, userId: string): Promise<MemberView> {
  await sql`
    select from memberships
    where property_id = ${property.id} and (role = 'admin' or user_id = ${userId}) order by id for update`;
  const [member] = await sql<MemberView[]>`
    select m.user_id, u.email, m.name, m.role, m.created_at
    from memberships m join users u on u.id = m.user_id
    where m.property_id = ${property.id} and m.user_id = ${userId}`;
  if (!member) {
    throw new Fault("not_found", { message: "This user has no role in this property. See list_members." });
  }
  return member;
}

/** Refuses to take the role from the last admin who can sign in. Without one, nobody manages the property's people. */
export async function keepAnAdmin({ sql, property }: Tenant, member: MemberView): Promise<void> {
  if (member.role !== "admin") return;
  const others = await sql`
    select from memberships m join users u on u.id = m.user_id
    where m.property_id = ${property.id} and m.role = 'admin' and m.user_id <> ${member.user_id} and u.is_active`;
  if (others.length > 0) return;
  throw new Fault("conflict", {
    message: `${member.email} is the last admin of this property. Make another person an admin first.`,
  });
}

/** An agent could otherwise make a person who approves its own proposals. Throws `forbidden`. */
export function refuseAgentsRise({ transport }: Call, role: Role): void {
  if (transport !== "mcp" || !acts(role)) return;
  throw new Fault("forbidden", {
    message: `Over MCP only the role analyst can be given. An admin gives the role ${role} in the console or over REST.`,
  });
}

/** The invitations that can still be accepted. */
export function openInvitations(sql: Sql) {
  return sql`withdrawn_at is null and accepted_at is null and expires_at > now()`;
}
