import { type Fragment, raw, sql } from "#db/sql.ts";
import { type Operator, opposite } from "./operator.ts";
import { someText } from "./values.ts";

const TEXTS = ["text"] as const;

const contains = part("%", "%", "has the text in it, in any case");

/** Operators that look inside a text. */
export const TEXT_OPERATORS = {
  like: patterned("like", "matches the pattern, upper and lower case told apart"),
  ilike: patterned("ilike", "matches the pattern, in any case"),
  contains,
  not_contains: opposite(contains, "does not have the text in it, in any case"),
  starts_with: part("", "%", "starts with the text, in any case"),
  ends_with: part("%", "", "ends with the text, in any case"),
} as const satisfies Record<string, Operator>;

function patterned(word: "like" | "ilike", meaning: string): Operator {
  return textOperator(
    "a pattern: % or * for any run of characters, _ for any one, \\ before a character to mean itself",
    meaning,
    (text, value) => sql`${text} ${raw(word)} ${pattern(value)}::text`,
  );
}

function part(before: string, after: string, meaning: string): Operator {
  return textOperator("a text", meaning, (text, value) => {
    const escaped = value.replace(/[\\%_]/g, "\\$&");
    return sql`${text} ilike ${`${before}${escaped}${after}`}::text`;
  });
}

function textOperator(
  value: string,
  meaning: string,
  condition: (text: Fragment, value: string) => Fragment,
): Operator {
  return {
    on: TEXTS,
    value,
    meaning,
    missing: false,
    sql: (field, given, at) => condition(field.sql, someText(given, at)),
  };
}

/** `*` is `%`, as in the filters of lists. A `\` at the end means itself: PostgreSQL would refuse it. */
function pattern(source: string): string {
  return source.replace(/\\([\s\S]?)|\*/gu, (whole, escaped: string | undefined) =>
    whole === "*" ? "%" : escaped === "*" ? "*" : `\\${escaped || "\\"}`,
  );
}
