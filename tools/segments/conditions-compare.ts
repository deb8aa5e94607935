import type { Field } from "./conditions-fields.ts";
import { type Operator, opposite } from "./conditions-operator.ts";
import { list, pair, scalar } from "./conditions-values.ts";

const ORDERED = ["text", "number", "timestamp", "date"] as const;
const ONE = "one value of the field's type";

const eq: Operator = {
  on: ["text", "number", "boolean", "timestamp", "date", "uuid", "flag", "segment"],
  value: ONE,
  meaning: "is equal to; texts letter for letter",
  missing: false,
  sql(field, value, at) {
    if (field.type === "flag" || field.type === "segment") {
      if (typeof value !== "boolean") throw at.wrong("must be true or false");
      // The bare `exists` can become a join; compared with a value it could not.
      return value ? field.sql : `${field.sql} is not true`;
    }
    return `${field.sql} = ${scalar(field, value, at)}`;
  },
};

const among: Operator = {
  on: ["text", "number", "date", "uuid"],
  value: "an array of values of the field's type",
  meaning: "is one of",
  missing: false,
  sql(field, value, at) {
    return `${field.sql} = any(${list(field, value, at)})`;
  },
};

const between: Operator = {
  on: ORDERED,
  value: "[low, high], both included",
  meaning: "lies in the range",
  missing: false,
  sql(field, value, at) {
    const [low, high] = pair(field, value, at);
    return `${ordered(field)} between ${low} and ${high}`;
  },
};

/** Operators that compare a field with values of its own type. */
export const COMPARISONS = {
  eq,
  neq: opposite(eq, "is not equal to"),
  gt: ordering(">", "is greater than, or later than"),
  gte: ordering(">=", "is at least, or not earlier than"),
  lt: ordering("<", "is less than, or earlier than"),
  lte: ordering("<=", "is at most, or not later than"),
  in: among,
  not_in: opposite(among, "is none of"),
  between,
  not_between: opposite(between, "lies outside the range"),
} as const satisfies Record<string, Operator>;

function ordering(sign: string, meaning: string): Operator {
  return {
    on: ORDERED,
    value: ONE,
    meaning,
    missing: false,
    sql: (field, value, at) => `${ordered(field)} ${sign} ${scalar(field, value, at)}`,
  };
}

/** Texts sort by their bytes, so that a rule means the same whatever locale the database was made with. */
function ordered({ type, sql }: Field): string {
  return type === "text" ? `${sql} collate "C"` : sql;
}
