import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { InvitationView, Role, refuseAgentsRise } from "./member.ts";
import sendInvitation from "./send-invitation.job.ts";

/** Of the last seven days. More is no team, and their mail would come from the service's own sender. */
const MOST_INVITATIONS = 100;

export default tool({
  name: "invite_member",
  title: "Invite a person to a property",
  description:
    "Mails a person a link, valid for 7 days, by which they join the property with the given role. They set a password there if they have no account. Only an admin of the property may invite. Inviting the same address again replaces the older link.",
  scope: "write",
  effect: "create",
  asks: true,
  access: "admin",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    email: z.email().max(320).describe("The invitation goes to it"),
    name: z.string().trim().min(1).max(200).optional().describe("As the property calls them"),
    role: Role,
  },
  output: InvitationView,
  status: 201,
  faults: ["conflict", "forbidden"],
  async handler({ sql, property, call, ask, emit, enqueue, audit }, input) {
    const { role, name = null } = input;
    refuseAgentsRise(call, role);
    const email = input.email.toLowerCase();
    await refuseTwice({ sql, property }, email);
    ask?.({
      sentences: () => [
        `${email} is invited to ${JSON.stringify(property.name)} as ${role}, and may see its players then.`,
      ],
    });
    const [invitation] = await sql<InvitationView[]>`
      insert into invitations (property_id, email, name, role, invited_by)
      values (${property.id}, ${email}, ${name}, ${role}, ${call.actor.id})
      on conflict (property_id, email) do update set id = excluded.id, name = excluded.name, role = excluded.role,
        invited_by = excluded.invited_by, token_hash = null, withdrawn_at = null, accepted_at = null,
        created_at = excluded.created_at, expires_at = excluded.expires_at
      returning id, email, name, role, created_at, expires_at`;
    const { id } = invitation!;
    enqueue(sendInvitation, { invitationId: id });
    emit("member.invited", { invitation_id: id, role, invited_by: call.actor.id });
    audit({ entity: "invitations", entityId: id, diff: { role } });
    return invitation!;
  },
});

/** Throws `conflict` for a member, for mail to one address again and again, and above the most invitations. */
async function refuseTwice({ sql, property }: Tenant, email: string): Promise<void> {
  const members = await sql`
    select from memberships m join users u on u.id = m.user_id
    where m.property_id = ${property.id} and u.email = ${email}`;
  if (members.length > 0) {
    throw new Fault("conflict", {
      message: `${email} works here already. Change the role with set_member_role.`,
    });
  }
  const [count] = await sql<{ open: number; recent: boolean }[]>`
    select count(*)::int as open,
      coalesce(bool_or(email = ${email} and created_at > now() - interval '10 minutes'), false) as recent
    from invitations where property_id = ${property.id} and created_at > now() - interval '7 days'`;
  if (count!.recent) {
    throw new Fault("conflict", {
      message: `${email} was invited less than 10 minutes ago. Ask them to look into their spam folder, or try again later.`,
    });
  }
  if (count!.open < MOST_INVITATIONS) return;
  throw new Fault("conflict", {
    message: `A property invites at most ${MOST_INVITATIONS} people in 7 days. The operator of the service can add more.`,
  });
}
