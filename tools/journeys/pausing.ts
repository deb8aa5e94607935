import type { Context } from "#runtime/operation/context.ts";
import { update } from "#runtime/operation/rows.ts";
import type { Journey } from "./journey/journey.ts";
import journeys from "./journeys.table.ts";

/** Pauses a locked journey: nobody enters or moves, and its messages wait. Time runs on. */
export async function pauseJourney(context: Context, { id }: Pick<Journey, "id">, reason: string | null) {
  const row = await update(context, journeys, id, {
    status: "paused",
    status_reason: reason,
    paused_at: "now",
  });
  await context.sql`
    update campaigns set status = 'paused', status_reason = 'The journey is paused.', updated_at = now()
    where property_id = ${context.property.id} and journey_id = ${id} and status = 'sending'`;
  context.audit({ entity: "journeys", entityId: id });
  return row;
}
