import { type Fragment, sql } from "#db/sql.ts";
import type { Field, FieldType } from "./field.ts";
import type { Position } from "./values.ts";

/** One operator of the rule rows: its fields, its meaning and its SQL. */
export interface Operator {
  /** The types of field that it applies to. */
  on: readonly FieldType[];
  /** Its fields, where the type alone does not determine them. */
  only?: readonly string[];
  /** Its value, in words. */
  value: string;
  meaning: string;
  /** Whether it matches a player whose field is missing. */
  missing: boolean;
  /** True, false or null; null counts as no match. */
  sql(field: Field, value: unknown, at: Position): Fragment;
}

/** The opposite operator: it matches all players that this one does not match, also those with a missing value. */
export function opposite(operator: Operator, meaning: string): Operator {
  return {
    ...operator,
    meaning,
    missing: !operator.missing,
    sql: (field, value, at) => sql`(${operator.sql(field, value, at)}) is not true`,
  };
}
