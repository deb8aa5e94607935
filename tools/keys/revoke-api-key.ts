import { z } from "zod";
import { scopesIn } from "#runtime/access.ts";
import { directoryChanged } from "#runtime/directory.ts";
import { Fault } from "#runtime/faults.ts";
import { tool } from "#runtime/operation.ts";

export default tool({
  name: "revoke_api_key",
  title: "Revoke an API key",
  description: "Makes a key unusable at once, everywhere. What uses it stops working. It cannot be undone.",
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
      update api_keys set is_active = false, revoked_at = coalesce(revoked_at, now()) where id = ${key_id}`;
    await directoryChanged(sql);
    audit({ entity: "api_keys", entityId: key_id, propertyId: key.property_id });
    return { success: true as const };
  },
});
