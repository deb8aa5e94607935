import { z } from "zod";
import type { Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { tool } from "#runtime/operation/operation.ts";
import { assertPassword } from "#tools/users/user.ts";
import { type Invitation, invitationOf } from "./invitation.ts";
import { Role } from "./member.ts";

export default tool({
  name: "accept_invitation",
  title: "Accept an invitation",
  description:
    "Joins the property with the token of an invitation's link. An address without an account gets one, with the given password. The token works once.",
  scope: "write",
  effect: "change",
  access: "public",
  realm: "system",
  at: { path: "/api/auth/invitation/accept" },
  input: {
    token: z.string().min(1).max(200).describe("From the link in the email"),
    password: z
      .string()
      .max(1024)
      .optional()
      .describe("12 to 256 characters; only for an address without an account"),
  },
  output: z.object({
    success: z.literal(true),
    property_id: z.uuid(),
    property_name: z.string(),
    role: Role,
  }),
  faults: ["invalid", "conflict"],
  async handler({ sql, audit, emit }, { token, password }) {
    const invitation = await invitationOf(sql, token);
    const { id, property_id, property_name, role, name } = invitation;
    // Of two requests at once, the second one finds the invitation accepted.
    const taken = await sql`
      with clock as materialized (select now() as moment)
      update invitations set accepted_at = moment, token_hash = null from clock
      where property_id = ${property_id} and id = ${id} and accepted_at is null and withdrawn_at is null returning id`;
    if (taken.length === 0) throw new Fault("conflict", { message: "This invitation has just been used." });
    const userId = await accountOf(sql, invitation, password);
    // A role that the person has meanwhile stays: the newer word of an admin counts.
    await sql`
      insert into memberships (property_id, user_id, role, name) values (${property_id}, ${userId}, ${role}, ${name})
      on conflict (property_id, user_id) do nothing`;
    await directoryChanged(sql);
    audit({ entity: "memberships", entityId: userId, propertyId: property_id, diff: { role: [null, role] } });
    emit("member.joined", { user_id: userId, role });
    return { success: true as const, property_id, property_name, role };
  },
});

async function accountOf(
  sql: Sql,
  { email, name, user_id, is_active }: Invitation,
  password: string | undefined,
): Promise<string> {
  if (user_id !== null && !is_active) {
    throw new Fault("conflict", {
      message: "The account of this address is switched off. The operator of the service can switch it on.",
    });
  }
  if (user_id !== null) return user_id;
  assertPassword(password ?? "");
  const [user] = await sql<{ id: string }[]>`
    insert into users (email, name, password_hash) values (${email}, ${name}, ${await hashPassword(password!)})
    on conflict (email) do nothing returning id`;
  if (!user)
    throw new Fault("conflict", { message: "This address has just got an account. Open the link again." });
  return user.id;
}
