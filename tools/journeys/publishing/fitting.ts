import { type Fragment, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { NodeOf } from "#tools/journeys/definition/definition.ts";
import { audienceBy, dateField, type Referred } from "#tools/segments/rules/references.ts";

/** Whether a player fits the trigger at its time, as SQL over `players p`. */
export function fitting(
  { property }: Pick<Tenant, "property">,
  { config }: NodeOf<"trigger">,
  referred: Referred,
  time: Fragment,
): Fragment {
  const inSegment = (id: string) =>
    audienceBy(property.id, { conditions: [{ field: `segment.${id}`, operator: "in_segment" }] }, referred);
  if (config.on === "date_field") {
    const segment = config.segment_id ? inSegment(config.segment_id) : sql`p.deleted_at is null`;
    const { sql: value, type } = dateField(config.field, property.id, referred);
    const date = type === "date" ? value : sql`(${value} at time zone ${property.timezone}::text)::date`;
    const day = sql`((${time} at time zone ${property.timezone}::text)::date - ${config.offset_days}::int)`;
    // Years added to February 29 give 28 where there is no 29.
    const years = sql`(extract(year from ${day}) - extract(year from ${date}))::int`;
    // A date that is still to come has no day in the years before it.
    return sql`(${segment} and case when isfinite(${date}) and ${date} <= ${day} then
      (${date} + make_interval(years => ${years}))::date = ${day} end)`;
  }
  return "segment_id" in config && config.segment_id ? inSegment(config.segment_id) : sql`false`;
}
