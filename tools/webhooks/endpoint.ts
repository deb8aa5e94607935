import { z } from "zod";
import { Fault, one } from "#runtime/faults.ts";
import { writeAuditRow } from "#runtime/funnel/audit.ts";
import { DELIVER_WEBHOOKS } from "#runtime/funnel/outbox.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { locationOf } from "#runtime/secrets/sealing.ts";
import sendWebhookNotice from "./send-webhook-notice.job.ts";

/** The job that delivers one endpoint's events, in the form for `enqueue`. */
export const DeliverWebhooks = { ...DELIVER_WEBHOOKS, input: z.object({ endpointId: z.uuid() }) };

/** Starts the delivery of an endpoint's due events. */
export function enqueueDelivery(
  enqueue: Context["enqueue"],
  id: string,
  options: { runAt?: string; dedupe?: string } = {},
): void {
  enqueue(DeliverWebhooks, { endpointId: id }, { mergeKey: id, ...options });
}

export const propertyId = z.uuid().optional().describe("The property; an API key implies its own");
export const endpointId = z.uuid().describe("From list_webhook_endpoints");

/** The sealing context of an endpoint's signing secrets: the current one and the previous one. */
export const secretPlace = (property: string, id: string) =>
  locationOf("webhook_endpoints", "secret", property, id);

/** Locks an active endpoint, ends its rest and starts its delivery. Throws `not_found`, `conflict`. */
export async function wakeDelivery({ sql, property, enqueue }: Context, id: string): Promise<void> {
  const endpoints = await sql<{ is_active: boolean; disabled_reason: string | null }[]>`
    update webhook_endpoints set resting_until = null
    where property_id = ${property.id} and id = ${id}
    returning is_active, disabled_reason`;
  const endpoint = one(endpoints, "webhook endpoint", id);
  if (!endpoint.is_active) {
    const reason = endpoint.disabled_reason ? ` (${endpoint.disabled_reason})` : "";
    throw new Fault("conflict", {
      message: `The webhook endpoint ${id} is not active${reason}. Set is_active to true with update_webhook_endpoint first.`,
    });
  }
  enqueueDelivery(enqueue, id);
}

/** Locks deliveries behind their endpoint, and by their ids, as an erasure does: two orders could deadlock. */
export async function lockDeliveries({ sql, property }: Tenant, ids: readonly string[]): Promise<void> {
  await sql`
    select from webhook_deliveries where property_id = ${property.id} and id = any(${[...ids]}::uuid[])
    order by id for update`;
}

/**
 * Switches an endpoint off because of its receiver's answers, writes an audit row, and mails the property's admins and
 * managers.
 */
export async function switchOff(context: Context, id: string, reason: string): Promise<void> {
  const { sql, property, enqueue } = context;
  await sql`
    update webhook_endpoints set is_active = false, disabled_reason = ${reason}, updated_at = now()
    where property_id = ${property.id} and id = ${id}`;
  await writeAuditRow(context, "disable_webhook_endpoint", {
    entity: "webhook_endpoints",
    entityId: id,
    diff: { is_active: true, disabled_reason: reason },
  });
  const managers = await sql<{ id: string }[]>`select id from property_managers() as id order by id`;
  for (const { id: userId } of managers) enqueue(sendWebhookNotice, { endpointId: id, userId });
}
