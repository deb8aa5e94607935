import type { Form } from "#db/query/readable-table.ts";
import type { Fragment } from "#db/sql.ts";

export type FieldType =
  | "text"
  | "number"
  | "boolean"
  | "timestamp"
  | "date"
  | "uuid"
  | "list"
  | "flag"
  | "segment";

/** A field of a player for conditions: its type, and its SQL over `players p`. */
export interface Field {
  name: string;
  type: FieldType;
  sql: Fragment;
  /** The SQL type for the values in its comparisons. */
  cast: string;
  /** The form in which its values are stored; equality compares in it. */
  form?: Form;
  /** The property's tiers from the lowest, which order this field. */
  tiers?: readonly string[];
  /** The SQL is an aggregate over these events of the player. */
  events?: EventAsk;
}

/** An aggregate over a player's events of one name. */
export interface EventAsk {
  name: string;
  /** The aggregate's value where there are no events: null or zero. */
  none: "missing" | "zero";
}
