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

/** Something a condition can ask about a player: its type, and its SQL over `players p`. */
export interface Field {
  name: string;
  type: FieldType;
  sql: Fragment;
  /** The SQL type that the values it is compared with are cast to. */
  cast: string;
  /** The property's tiers from the lowest, by which this one is ordered. */
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
