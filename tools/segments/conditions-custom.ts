import type { Field } from "./conditions-fields.ts";
import type { Statement } from "./conditions-statement.ts";
import type { Place } from "./conditions-values.ts";

const YEAR_MONTH_DAY = "[1-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])";

/** The field as the type of the value that it is compared with. A stored value of another type is missing. */
export function typed(field: Field, value: unknown, at: Place): Field {
  if (field.type !== "custom") return field;
  switch (typeof value) {
    case "string":
      return { ...field, type: "text", cast: "text", sql: customText(field) };
    case "number":
      // numeric, because a stored 1e400 fits no double precision and would fail the whole statement.
      return {
        ...field,
        type: "number",
        cast: "numeric",
        sql: `(case when jsonb_typeof(${field.sql}) = 'number' then (${field.sql})::numeric end)`,
      };
    case "boolean":
      return {
        ...field,
        type: "boolean",
        cast: "boolean",
        sql: `(case ${field.sql} when 'true'::jsonb then true when 'false'::jsonb then false end)`,
      };
    default:
      throw at.wrong("must be a text, a number, true or false");
  }
}

/** A custom field's text. */
export function customText(field: Field): string {
  return `(case when jsonb_typeof(${field.sql}) = 'string' then ${field.sql} #>> '{}' end)`;
}

/** A custom field's array. */
export function customList(field: Field): string {
  return `(case when jsonb_typeof(${field.sql}) = 'array' then ${field.sql} end)`;
}

/** The calendar day, in the property's zone, of a custom field that holds an ISO 8601 date or time. */
export function customDate(field: Field, statement: Statement): string {
  return readTime(
    field,
    (text) => `${text}::date`,
    (text) => `(${text}::timestamptz at time zone ${statement.zone})::date`,
  );
}

/** The moment of a custom field that holds an ISO 8601 date or time; a date means its first moment. */
export function customInstant(field: Field, statement: Statement): Field {
  const sql = readTime(
    field,
    (text) => `${text}::date::timestamp at time zone ${statement.zone}`,
    (text) => `${text}::timestamptz`,
  );
  return { ...field, type: "timestamp", cast: "timestamptz", sql };
}

/** Nothing is cast before the text is known to be a day of the calendar: one bad row would fail them all. */
function readTime(field: Field, ofDate: (text: string) => string, ofTime: (text: string) => string): string {
  const text = customText(field);
  const lastDay =
    `extract(day from make_date(substr(${text}, 1, 4)::int, substr(${text}, 6, 2)::int, 1)` +
    " + interval '1 month - 1 day')";
  return (
    `(case when ${text} !~ '^${YEAR_MONTH_DAY}(T${TIME})?$' then null` +
    ` when substr(${text}, 9, 2)::int > ${lastDay} then null` +
    ` when length(${text}) = 10 then ${ofDate(text)} else ${ofTime(text)} end)`
  );
}
