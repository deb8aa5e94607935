import { type Fragment, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { audienceOf } from "#tools/segments/rules/references.ts";
import { MOST_ADDRESSES } from "./validation-job.ts";

export const TOO_MANY = `There are more than ${MOST_ADDRESSES} addresses. Validate smaller segments.`;

/**
 * The addresses of a segment's players, or of all players, each once, as a select of `email` and `id`. It selects one
 * more than a job may have.
 */
export async function addressesOf(
  { sql: transaction, property }: Tenant,
  segmentId: string | undefined,
): Promise<Fragment> {
  const audience = segmentId
    ? await audienceOf(transaction, property.id, segmentId)
    : sql`p.deleted_at is null`;
  return sql`
    select distinct on (p.email) p.email, p.id from players p
    where p.property_id = ${property.id} and p.email is not null and p.status <> 'erased' and ${audience}
    order by p.email, p.id limit ${MOST_ADDRESSES + 1}`;
}
