import { invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";

export const REQUEST_TYPES = ["export", "deletion", "correction", "restriction", "objection"] as const;
export type RequestType = (typeof REQUEST_TYPES)[number];

export const REQUEST_STATUSES = ["received", "verifying", "processing", "completed", "rejected"] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
export const OPEN_STATUSES: readonly RequestStatus[] = ["received", "verifying", "processing"];

/** The due time of a request, by the property's deadlines. Throws `invalid` for a regulation without a deadline. */
export async function dueAt(
  { sql, property }: Context,
  regulation: string,
  receivedAt: string | null = null,
): Promise<string> {
  const [row] = await sql<{ due: string | null; known: string }[]>`
    select coalesce(${receivedAt}::timestamptz, now()) + (privacy_deadlines ->> ${regulation})::interval as due,
      (select string_agg(name, ', ' order by name) from jsonb_object_keys(privacy_deadlines) as name) as known
    from properties where id = ${property.id}`;
  if (!row?.due) throw invalid("regulation", `has no deadline in this property; known are ${row?.known}`);
  return row.due;
}

/** The player's first open request of this type, else a new one. It is now processing. */
export async function openRequest(
  context: Context,
  type: RequestType,
  playerId: string,
  requestedBy: string | null,
): Promise<string> {
  const { sql, property } = context;
  const [open] = await sql<{ id: string }[]>`
    update privacy_requests set status = 'processing', requested_by = ${requestedBy}, updated_at = now()
    where property_id = ${property.id} and id = (
      select id from privacy_requests
      where property_id = ${property.id} and player_id = ${playerId} and type = ${type}
        and status in ('received', 'verifying', 'processing')
      order by received_at, id limit 1 for update)
    returning id`;
  if (open) return open.id;
  const [row] = await sql<{ id: string }[]>`
    insert into privacy_requests (property_id, player_id, type, status, requested_by, due_at)
    values (${property.id}, ${playerId}, ${type}, 'processing', ${requestedBy}, ${await dueAt(context, "gdpr")})
    returning id`;
  return row!.id;
}

/** Completes the request. `result` holds numbers and names of tables, and no personal data. */
export async function completeRequest(
  { sql, property }: Context,
  id: string,
  result: object | null = null,
): Promise<void> {
  await sql`
    update privacy_requests set status = 'completed', completed_at = now(), updated_at = now(),
      result = ${result}
    where property_id = ${property.id} and id = ${id}`;
}
