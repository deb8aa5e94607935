import type { Context } from "#runtime/context.ts";
import { audienceOf } from "#tools/segments/conditions-segments.ts";
import type { Fragment } from "#tools/segments/conditions-statement.ts";
import { MOST_ADDRESSES } from "./validation-job.ts";

export const TOO_MANY = `There are more than ${MOST_ADDRESSES} addresses. Validate smaller segments.`;

/**
 * The addresses of a segment's players, or of all, each once, as one statement that goes on counting its parameters
 * `after` so many, of which $1 is the property. One more than a job may have is among them.
 */
export async function addressesOf(
  { sql, property }: Pick<Context, "sql" | "property">,
  segmentId: string | undefined,
  after: number,
): Promise<Fragment> {
  const { text, params } = segmentId
    ? await audienceOf(sql, property.id, segmentId, after)
    : { text: "p.deleted_at is null", params: [] };
  const addresses = `select distinct on (p.email) p.email, p.id from players p
    where p.property_id = $1 and p.email is not null and p.status <> 'erased' and ${text}
    order by p.email, p.id limit ${MOST_ADDRESSES + 1}`;
  return { text: addresses, params };
}
