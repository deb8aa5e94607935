import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "revoke_membership",
  title: "Take a property from a user",
  description:
    "Ends a user's access to a property, at once. Their API keys stay valid: revoke them with revoke_api_key.",
  scope: "write",
  effect: "destroy",
  access: "operator",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    user_id: z.uuid().describe("From list_users"),
  },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found"],
  async handler({ sql, property, audit }, { user_id }) {
    const [row] = await sql<{ id: string }[]>`
      delete from memberships where property_id = ${property.id} and user_id = ${user_id} returning id`;
    if (!row)
      throw new Fault("not_found", { message: "This user has no role in this property. See list_users." });
    // A link that is still open would let them in again.
    const [user] = await sql<[{ email: string }]>`select email from users where id = ${user_id}`;
    await sql`delete from invitations where property_id = ${property.id} and email = ${user.email}`;
    await directoryChanged(sql);
    audit({ entity: "memberships", entityId: row.id });
    return { success: true as const };
  },
});
