import { z } from "zod";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";
import { keepAnAdmin, lockMember, MemberView, Role, refuseAgentsRise } from "./member.ts";

export default tool({
  name: "set_member_role",
  title: "Change a person's role",
  description:
    "Changes the role of a person who works in the property, at once. Only an admin of the property may, and the last admin keeps the role.",
  scope: "write",
  effect: "change",
  asks: true,
  access: "admin",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    user_id: z.uuid().describe("From list_members"),
    role: Role,
  },
  output: MemberView,
  faults: ["not_found", "conflict", "forbidden"],
  async handler({ sql, property, call, ask, emit, audit }, { user_id, role }) {
    refuseAgentsRise(call, role);
    const member = await lockMember({ sql, property }, user_id);
    audit({ entity: "memberships", entityId: user_id, diff: { role: [member.role, role] } });
    if (member.role === role) return member;
    await keepAnAdmin({ sql, property }, member);
    ask?.({ sentences: () => [`${member.email} is ${role} from now on, and no longer ${member.role}.`] });
    await sql`
      update memberships set role = ${role}, updated_at = now()
      where property_id = ${property.id} and user_id = ${user_id}`;
    await directoryChanged(sql);
    emit("member.role_changed", { user_id, role, changed_by: call.actor.id }, { role: member.role });
    return { ...member, role };
  },
});
