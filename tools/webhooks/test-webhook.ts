import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { tool } from "#runtime/operation/operation.ts";
import { endpointId, propertyId, wakeDelivery } from "./endpoint.ts";

export default tool({
  name: "test_webhook",
  title: "Send a test event",
  description:
    "Sends a webhook.test event to one endpoint, with or without a subscription to it. get_webhook_delivery shows the result.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: { propertyId, endpointId },
  output: z.object({ success: z.literal(true), event_id: z.uuid(), delivery_id: z.uuid() }),
  faults: ["not_found", "conflict"],
  async handler(context, input) {
    const { sql, property, audit } = context;
    await wakeDelivery(context, input.endpointId);
    const eventId = randomUUIDv7();
    const data = { object: { endpoint_id: input.endpointId, message: "This is a test." } };
    const [delivery] = await sql<{ id: string }[]>`
      with event as (
        insert into outbox (property_id, id, type, data)
        values (${property.id}, ${eventId}, 'webhook.test', ${data})
      )
      insert into webhook_deliveries (property_id, id, event_id, event_type, endpoint_id)
      values (${property.id}, uuid_v7_of(${eventId}::uuid), ${eventId}, 'webhook.test', ${input.endpointId})
      returning id`;
    audit({ entity: "webhook_deliveries", entityId: delivery!.id });
    return { success: true as const, event_id: eventId, delivery_id: delivery!.id };
  },
});
