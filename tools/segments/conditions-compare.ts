import { typed } from "./conditions-custom.ts";
import type { Field } from "./conditions-fields.ts";
import { type Operator, opposite } from "./conditions-operator.ts";
import { list, type Place, pair, scalar } from "./conditions-values.ts";

const ORDERED = ["text", "number", "timestamp", "date", "custom"] as const;
const ONE = "one value of the field's type";

const eq: Operator = {
  on: ["text", "number", "boolean", "timestamp", "date", "uuid", "custom", "flag", "segment"],
  value: ONE,
  meaning: "is equal to; texts letter for letter",
  missing: false,
  sql(field, value, at) {
    if (field.type === "flag" || field.type === "segment") {
      if (typeof value !== "boolean") throw at.wrong("must be true or false");
      // The bare `exists` can become a join; compared with a value it could not.
      return value ? field.sql : `${field.sql} is not true`;
    }
    const own = typed(field, value, at);
    return `${own.sql} = ${scalar(own, value, at)}`;
  },
};

const among: Operator = {
  on: ["text", "number", "date", "uuid", "custom"],
  value: "an array of values of the field's type",
  meaning: "is one of",
  missing: false,
  sql(field, value, at) {
    const own = typed(field, Array.isArray(value) ? value[0] : "", elementOf(at));
    if (own.type === "boolean") throw at.wrong("must be a text or a number", "[0]");
    return `${own.sql} = any(${list(own, value, at)})`;
  },
};

const between: Operator = {
  on: ORDERED,
  value: "[low, high], both included",
  meaning: "lies in the range",
  missing: false,
  sql(field, value, at) {
    const own = ordered(field, Array.isArray(value) ? value[0] : "", elementOf(at));
    const [low, high] = pair(own, value, at);
    return `${own.sql} between ${low} and ${high}`;
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
    sql: (field, value, at) => {
      const own = ordered(field, value, at);
      return `${own.sql} ${sign} ${scalar(own, value, at)}`;
    },
  };
}

/** Texts sort by their bytes, so that a rule means the same whatever locale the database was made with. */
function ordered(field: Field, value: unknown, at: Place): Field {
  const own = typed(field, value, at);
  if (own.type === "boolean") throw at.wrong("must be a text or a number");
  return own.type === "text" ? { ...own, sql: `${own.sql} collate "C"` } : own;
}

function elementOf(at: Place): Place {
  return { ...at, wrong: (message) => at.wrong(message, "[0]") };
}
