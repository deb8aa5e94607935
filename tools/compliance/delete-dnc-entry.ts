import { z } from "zod";
import { lockRow } from "#runtime/operation/crud.ts";
import { tool } from "#runtime/operation/operation.ts";
import dncEntries from "./dnc-entries.table.ts";

export default tool({
  name: "delete_dnc_entry",
  title: "Lift a do-not-call entry",
  description:
    "Removes a phone number from one do-not-call list, to correct a mistake. Only a signed-in admin or manager can do it. The audit log keeps the entry.",
  scope: "write",
  effect: "destroy",
  access: "manager",
  input: { id: z.uuid().describe("From list_dnc_entries") },
  output: z.object({ success: z.literal(true) }),
  faults: ["not_found"],
  crud: { table: dncEntries, verb: "delete" },
  async handler(context, { id }) {
    const { sql, property, audit } = context;
    const { list, source, phone_hash, requested_at, expires_at } = await lockRow(context, dncEntries, id);
    context.ask?.({
      state: id,
      sentences: () => [
        `This takes a number off the ${list} do-not-call list, where it is since ${requested_at}. It cannot be undone.`,
      ],
    });
    await sql`delete from dnc_entries where property_id = ${property.id} and id = ${id}`;
    audit({ entityId: id, diff: { list, source, phone_hash, requested_at, expires_at } });
    return { success: true as const };
  },
});
