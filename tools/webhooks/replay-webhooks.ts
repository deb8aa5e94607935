import { z } from "zod";
import { invalid } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { endpointId, lockDeliveries, propertyId, wakeDelivery } from "./endpoint.ts";

const MOST = 10_000;

export default tool({
  name: "replay_webhooks",
  title: "Deliver many webhooks again",
  description: `Sends an endpoint's deliveries of a period again, oldest first, at most ${MOST} a call; status pending sends those that wait for their next attempt now. To continue, pass next_after as after. Receivers get the same ids.`,
  scope: "write",
  effect: "change",
  bulk: true,
  property: "propertyId",
  input: {
    propertyId,
    endpointId,
    since: timestamp().describe("Deliveries created then or later"),
    until: timestamp().optional().describe("Deliveries created before; now when absent"),
    status: z
      .enum(["failed", "discarded", "delivered", "pending"])
      .default("failed")
      .describe(
        "The deliveries to send again. pending: those that wait for their next attempt, after an outage",
      ),
    after: z.uuid().optional().describe("The last answer's next_after"),
  },
  output: z.object({
    success: z.literal(true),
    replayed: z.int(),
    next_after: z.uuid().nullable().describe("Null when none is left"),
  }),
  faults: ["invalid", "not_found", "conflict"],
  async handler(context, input) {
    const { sql, property, audit } = context;
    const { since, until = "now", status, after } = input;
    if (input.until && Date.parse(input.until) <= Date.parse(since))
      throw invalid("until", "must be after since");
    await wakeDelivery(context, input.endpointId);
    const chosen = await sql<{ id: string }[]>`
      select id from webhook_deliveries
      where property_id = ${property.id} and endpoint_id = ${input.endpointId} and status = ${status}
        and created_at >= ${since} and created_at < ${until}
        ${status === "pending" ? sql`and next_attempt_at > now()` : sql``}
        ${after ? sql`and id > ${after}` : sql``}
      order by id limit ${MOST}`;
    const ids = chosen.map(({ id }) => id);
    await lockDeliveries(context, ids);
    const { count: replayed } = await sql`
      update webhook_deliveries
      set status = 'pending', attempt_count = 0, next_attempt_at = now(), updated_at = now()
      where property_id = ${property.id} and id = any(${ids}::uuid[])`;
    audit({
      entity: "webhook_endpoints",
      entityId: input.endpointId,
      diff: { replayed, since, until, status },
    });
    return { success: true as const, replayed, next_after: ids.length === MOST ? ids.at(-1)! : null };
  },
});
