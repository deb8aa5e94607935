import { z } from "zod";
import { one } from "#runtime/faults.ts";
import { tool } from "#runtime/operation/operation.ts";
import { propertyId, wakeDelivery } from "./endpoint.ts";

export default tool({
  name: "redeliver_webhook",
  title: "Deliver a webhook again",
  description:
    "Sends one delivery again now, in any status, with all its retries. The receiver gets the same ids.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: { propertyId, deliveryId: z.uuid().describe("From list_webhook_deliveries") },
  output: z.object({ success: z.literal(true), delivery_id: z.uuid() }),
  faults: ["not_found", "conflict"],
  async handler(context, { deliveryId }) {
    const { sql, property, audit } = context;
    const deliveries = await sql<{ endpoint_id: string }[]>`
      select endpoint_id from webhook_deliveries where property_id = ${property.id} and id = ${deliveryId}`;
    const delivery = one(deliveries, "webhook delivery", deliveryId);
    // Locks the endpoint first, as the job does: two orders could deadlock.
    await wakeDelivery(context, delivery.endpoint_id);
    await sql`
      update webhook_deliveries
      set status = 'pending', attempt_count = 0, next_attempt_at = now(), updated_at = now()
      where property_id = ${property.id} and id = ${deliveryId}`;
    audit({ entity: "webhook_deliveries", entityId: deliveryId });
    return { success: true as const, delivery_id: deliveryId };
  },
});
