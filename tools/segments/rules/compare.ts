import { cast, type Fragment, raw, sql } from "#db/sql.ts";
import { bareOrQuoted } from "#runtime/visible-text.ts";
import type { Field } from "./field.ts";
import { type Operator, opposite } from "./operator.ts";
import { equals, list, type Position, pair, scalar } from "./values.ts";

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
      return value ? field.sql : sql`${field.sql} is not true`;
    }
    return equals(field, value, at);
  },
};

const among: Operator = {
  on: ["text", "number", "date", "uuid"],
  value: "an array of values of the field's type",
  meaning: "is one of",
  missing: false,
  sql(field, value, at) {
    return sql`${field.sql} = any(${list(field, value, at)})`;
  },
};

const between: Operator = {
  on: ORDERED,
  value: "[low, high], both included",
  meaning: "lies in the range",
  missing: false,
  sql(field, value, at) {
    if (field.tiers) {
      const [low, high] = tierRange(field.tiers, value, at);
      return sql`${ranked(field, field.tiers)} between ${low} and ${high}`;
    }
    const [low, high] = pair(field, value, at);
    return sql`${ordered(field)} between ${low} and ${high}`;
  },
};

/** Operators that compare a field with values of its own type. */
export const COMPARISONS = {
  eq,
  neq: opposite(eq, "is not equal to"),
  gt: ordering(">", "is greater than, or later than; of a tier, stands above it in the property's tiers"),
  gte: ordering(">=", "is at least, or not earlier than; of a tier, is it or stands above it"),
  lt: ordering("<", "is less than, or earlier than; of a tier, stands below it"),
  lte: ordering("<=", "is at most, or not later than; of a tier, is it or stands below it"),
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
    sql: (field, value, at) =>
      field.tiers
        ? sql`${ranked(field, field.tiers)} ${raw(sign)} ${tierRank(field.tiers, value, at)}`
        : sql`${ordered(field)} ${raw(sign)} ${scalar(field, value, at)}`,
  };
}

/** Texts sort by their bytes, so that a rule means the same in databases of every locale. */
function ordered(field: Field): Fragment {
  return field.type === "text" ? sql`${field.sql} collate "C"` : field.sql;
}

/** The rank of a tier among the property's; an unknown tier has none, and counts as missing. */
function ranked(field: Field, tiers: readonly string[]): Fragment {
  return sql`array_position(${[...tiers]}::text[], ${field.sql})`;
}

function tierRank(tiers: readonly string[], value: unknown, at: Position, part = ""): Fragment {
  const rank = tiers.indexOf(value as string);
  if (rank < 0)
    throw at.wrong(`must be one of the property's tiers: ${tiers.map(bareOrQuoted).join(", ")}`, part);
  return cast(rank + 1, "int");
}

function tierRange(tiers: readonly string[], value: unknown, at: Position): [Fragment, Fragment] {
  if (!Array.isArray(value) || value.length !== 2) throw at.wrong("must be [low, high]");
  const ends: [Fragment, Fragment] = [
    tierRank(tiers, value[0], at, "[0]"),
    tierRank(tiers, value[1], at, "[1]"),
  ];
  if (tiers.indexOf(value[0]) > tiers.indexOf(value[1])) throw at.wrong("must be [low, high] with low first");
  return ends;
}
