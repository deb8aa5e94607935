import type { CustomField, CustomType } from "#tools/players/custom.ts";
import type { FieldType } from "./conditions-fields.ts";
import type { Statement } from "./conditions-statement.ts";

/** What conditions take a custom field of each type for. */
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
export function customSql({ key, type }: CustomField, statement: Statement): { sql: string; cast?: string } {
  const value = `(p.custom -> ${statement.bind(key, "text")})`;
  const text = `(case when jsonb_typeof(${value}) = 'string' then ${value} #>> '{}' end)`;
  switch (CUSTOM_AS[type]) {
    case "text":
      return { sql: text };
    case "number":
      // numeric, because a stored 1e400 fits no double precision and would fail the whole statement.
      return {
        sql: `(case when jsonb_typeof(${value}) = 'number' then ${value}::numeric end)`,
        cast: "numeric",
      };
    case "boolean":
      return { sql: `(case ${value} when 'true'::jsonb then true when 'false'::jsonb then false end)` };
    case "date":
      return {
        sql: readTime(text, `${text}::date`, `(${text}::timestamptz at time zone ${statement.zone})::date`),
      };
    case "timestamp":
      return {
        sql: readTime(
          text,
          `${text}::date::timestamp at time zone ${statement.zone}`,
          `${text}::timestamptz`,
        ),
      };
    case "list":
      return {
        sql: `(case when jsonb_typeof(${value}) = 'array' then array(select jsonb_array_elements_text(${value})) end)`,
      };
  }
}

/** Nothing is cast before the text is known to be a day of the calendar: one bad row would fail them all. */
function readTime(text: string, ofDate: string, ofTime: string): string {
  const lastDay =
    `extract(day from make_date(substr(${text}, 1, 4)::int, substr(${text}, 6, 2)::int, 1)` +
    " + interval '1 month - 1 day')";
  return (
    `(case when ${text} !~ '^${YEAR_MONTH_DAY}(T${TIME})?$' then null` +
    ` when substr(${text}, 9, 2)::int > ${lastDay} then null` +
    ` when length(${text}) = 10 then ${ofDate} else ${ofTime} end)`
  );
}
