import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { scopesIn } from "#runtime/funnel/access.ts";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { tool } from "#runtime/operation/operation.ts";

export default tool({
  name: "revoke_api_key",
  title: "Revoke an API key",
  description:
    "Revokes a key at once, everywhere. Programs that use it stop working, and its imports stop at their next batch. It cannot be undone.",
  scope: "write",
  effect: "destroy",
  core: true,
  access: "user",
  realm: "system",
  input: { key_id: z.uuid().describe("From list_api_keys") },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found"],
  async handler({ sql, call, audit }, { key_id }) {
    const [key] = await sql<{ property_id: string }[]>`
      select property_id from api_keys where id = ${key_id} for update`;
    const scopes = key ? scopesIn(call.actor, key.property_id) : [];
    if (!key || scopes.length === 0) {
      throw new Fault("not_found", { message: `No API key with the id ${key_id}. See list_api_keys.` });
    }
    if (!scopes.includes("write")) throw new Fault("insufficient_scope");
    await sql`
      with clock as materialized (select now() as moment)
      update api_keys set is_active = false, revoked_at = coalesce(revoked_at, moment) from clock where id = ${key_id}`;
    await directoryChanged(sql);
    audit({ entity: "api_keys", entityId: key_id, propertyId: key.property_id });
    return { success: true as const };
  },
});
