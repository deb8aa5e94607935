import { type Fragment, raw } from "#db/sql.ts";

/**
 * A column's time, moved by an interval like "-25 hours". By way of UTC, because `timestamptz + interval` depends on
 * the session's time zone, and Citus updates no row by such an expression.
 */
export const shifted = (column: string, by: string): Fragment =>
  raw(`(${column} at time zone 'UTC' + interval '${by}') at time zone 'UTC'`);
