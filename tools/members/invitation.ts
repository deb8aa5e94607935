import type { Sql } from "#db/database.ts";
import { invalid } from "#runtime/faults.ts";
import { tokenHash } from "#tools/auth/reset-token.ts";
import { openInvitations, type Role } from "./member.ts";

export interface Invitation {
  id: string;
  property_id: string;
  property_name: string;
  email: string;
  name: string | null;
  role: Role;
  /** The account of the address, if there is one. */
  user_id: string | null;
  is_active: boolean | null;
}

/** The open invitation of a link. Throws `invalid` for a false or an expired link. */
export async function invitationOf(sql: Sql, token: string): Promise<Invitation> {
  const [invitation] = await sql<Invitation[]>`
    select i.id, i.property_id, p.name as property_name, i.email, i.name, i.role, u.id as user_id, u.is_active
    from invitations i join properties p on p.id = i.property_id left join users u on u.email = i.email
    where i.token_hash = ${tokenHash(token)} and ${openInvitations(sql)}`;
  if (!invitation) throw invalid("token", "this link is not valid any more; ask for a new invitation");
  return invitation;
}
