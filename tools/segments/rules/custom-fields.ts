import { type Fragment, raw, sql } from "#db/sql.ts";
import type { CustomField, CustomType } from "#tools/custom-fields/values.ts";
import type { FieldType } from "./field.ts";
import type { RuleScope } from "./rule-scope.ts";

/** The condition type of each type of custom field. */
export const CUSTOM_AS = {
  text: "text",
  enum: "text",
  number: "number",
  boolean: "boolean",
  date: "date",
  datetime: "timestamp",
  text_list: "list",
} as const satisfies Record<CustomType, FieldType>;

const YEAR_MONTH_DAY = "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])";

/** A custom field's value as its type; a stored value of another type is missing. */
export function customSql({ key, type }: CustomField, { zone }: RuleScope): { sql: Fragment; cast?: string } {
  const value = sql`(p.custom -> ${key}::text)`;
  const text = sql`(case when jsonb_typeof(${value}) = 'string' then ${value} #>> '{}' end)`;
  switch (CUSTOM_AS[type]) {
    case "text":
      return { sql: text };
    case "number":
      // numeric, because a stored 1e400 fits no double precision and would fail the whole statement.
      return {
        sql: sql`(case when jsonb_typeof(${value}) = 'number' then ${value}::numeric end)`,
        cast: "numeric",
      };
    case "boolean":
      return { sql: sql`(case ${value} when 'true'::jsonb then true when 'false'::jsonb then false end)` };
    case "date":
      return {
        sql: readTime(text, sql`${text}::date`, sql`(${text}::timestamptz at time zone ${zone})::date`),
      };
    case "timestamp":
      return {
        sql: readTime(text, sql`${text}::date::timestamp at time zone ${zone}`, sql`${text}::timestamptz`),
      };
    case "list":
      return {
        sql: sql`(case when jsonb_typeof(${value}) = 'array' then array(select jsonb_array_elements_text(${value})) end)`,
      };
  }
}

/** The text is cast only after it is known to be a calendar day: one bad row would fail the whole statement. */
function readTime(text: Fragment, ofDate: Fragment, ofTime: Fragment): Fragment {
  const form = raw(`'^${YEAR_MONTH_DAY}(T${TIME})?$'`);
  const lastDay = sql`extract(day from
    make_date(substr(${text}, 1, 4)::int, substr(${text}, 6, 2)::int, 1) + interval '1 month - 1 day')`;
  return sql`(case when ${text} !~ ${form} then null
    when substr(${text}, 9, 2)::int > ${lastDay} then null
    when length(${text}) = 10 then ${ofDate} else ${ofTime} end)`;
}
