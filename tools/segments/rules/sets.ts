import { cast, type Fragment, raw, sql } from "#db/sql.ts";
import { type Operator, opposite } from "./operator.ts";
import { type Position, someText, texts } from "./values.ts";

const FLAGS = ["flag", "segment"] as const;
const MAYBE = ["text", "number", "boolean", "timestamp", "date", "uuid", "list"] as const;

const PRESENCE = ["null", "not_null"];
const TRUTH = ["true", "false"];
const BOTH = [...PRESENCE, ...TRUTH];
const BUCKETS = 2 ** 32;

const hasAny = set("has at least one of", "&&");

const isSet: Operator = {
  on: MAYBE,
  value: "none",
  meaning: "is there",
  missing: false,
  sql: (field, value, at) => alone(value, at, sql`${field.sql} is not null`),
};

const inSegment: Operator = {
  on: ["segment"],
  value: "none",
  meaning: "is in the segment",
  missing: false,
  sql: (field, value, at) => alone(value, at, field.sql),
};

/** Operators about presence, sets, segments and chance. */
export const SET_OPERATORS = {
  is: {
    on: [...MAYBE, ...FLAGS],
    value: "null, not_null, true or false, as the field's type allows; of events {op, n, within_days}",
    meaning: "is missing, is there, is true, is false; of events, compares those of the last days",
    missing: false,
    sql(field, value, at) {
      const flag = field.type === "flag" || field.type === "segment";
      const words = flag ? TRUTH : field.type === "boolean" ? BOTH : PRESENCE;
      // Never String(value): a value from the wire may have its own toString, which is no function.
      const given = typeof value === "boolean" || value === null ? `${value}` : value;
      const word = typeof given === "string" && words.find((each) => each === given.toLowerCase());
      if (!word) throw at.wrong(`must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}`);
      if (word === "null") return sql`${field.sql} is null`;
      if (word === "not_null") return sql`${field.sql} is not null`;
      return sql`${field.sql} is ${raw(word)}`;
    },
  },
  is_set: isSet,
  is_not_set: opposite(isSet, "is missing"),
  is_empty: {
    on: ["text", "list"],
    value: "none",
    meaning: "is missing, or is an empty text or list",
    missing: true,
    sql(field, value, at) {
      const isEmpty =
        field.type === "list"
          ? sql`coalesce(cardinality(${field.sql}), 0) = 0`
          : sql`coalesce(${field.sql}, '') = ''`;
      return alone(value, at, isEmpty);
    },
  },
  has_any: hasAny,
  has_all: set("has each of", "@>"),
  has_none: opposite(hasAny, "has none of"),
  in_segment: inSegment,
  not_in_segment: opposite(inSegment, "is not in the segment"),
  random_bucket: {
    on: ["uuid", "text"],
    only: ["id", "player_id"],
    value: "{percent, salt}: a number from 0 to 100, and a text that tells one experiment from another",
    meaning: "falls in a part of all players that is random, but the same each time for the same salt",
    missing: false,
    sql(field, value, at) {
      const { percent, salt } = share(value, at);
      const prefix = cast(`${salt}:`, "text");
      // SHA-256, because PostgreSQL's own hash functions may change from version to version.
      const hash = sql`sha256(convert_to(${prefix} || ${field.sql}::text, 'UTF8'))`;
      const number = sql`('x' || encode(substring(${hash} from 1 for 4), 'hex'))::bit(32)::bigint`;
      return sql`${number} < ${(percent * BUCKETS) / 100}::double precision`;
    },
  },
} as const satisfies Record<string, Operator>;

function set(meaning: string, sign: "&&" | "@>"): Operator {
  return {
    on: ["list"],
    value: "an array of texts",
    meaning,
    missing: false,
    sql: (field, value, at) => sql`${field.sql} ${raw(sign)} ${texts(value, at)}`,
  };
}

function alone(value: unknown, at: Position, condition: Fragment): Fragment {
  if (value !== undefined && value !== null) throw at.wrong("must be left out: this operator takes none");
  return condition;
}

function share(value: unknown, at: Position): { percent: number; salt: string } {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const { percent, salt, ...others } = value as Record<string, unknown>;
    if (typeof percent === "number" && percent >= 0 && percent <= 100 && Object.keys(others).length === 0) {
      const part: Position = {
        ...at,
        wrong: (message) => at.wrong(message, ".salt"),
      };
      return { percent, salt: someText(salt, part) };
    }
  }
  throw at.wrong("must be {percent, salt}: a number from 0 to 100 and a text");
}
