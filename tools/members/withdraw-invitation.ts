import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { openInvitations } from "./member.ts";

export default tool({
  name: "withdraw_invitation",
  title: "Withdraw an invitation",
  description: "Makes the link of an open invitation invalid, at once.",
  scope: "write",
  effect: "change",
  access: "admin",
  realm: "system",
  property: "property_id",
  input: {
    property_id: z.uuid().describe("From list_properties"),
    invitation_id: z.uuid().describe("From list_members"),
  },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found"],
  async handler({ sql, property, audit }, { invitation_id }) {
    const [row] = await sql<{ id: string }[]>`
      with clock as materialized (select now() as moment)
      update invitations set withdrawn_at = moment, token_hash = null from clock
      where property_id = ${property.id} and id = ${invitation_id} and ${openInvitations(sql)} returning id`;
    if (!row) {
      throw new Fault("not_found", {
        message: "No open invitation of this property has this id. See list_members.",
      });
    }
    audit({ entity: "invitations", entityId: row.id });
    return { success: true as const };
  },
});
