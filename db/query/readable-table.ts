import { type Fragment, raw } from "#db/sql.ts";
/** The column types that filters and inputs are cast to. */
export type ColumnType =
  | "uuid"
  | "text"
  | "double precision"
  | "bigint"
  | "boolean"
  | "timestamptz"
  | "date"
  | "jsonb"
  | "text[]"
  | "uuid[]";

export interface ColumnShape {
  type: ColumnType;
  /** An SQL expression over the table's own columns, for a column that is computed on the way out. */
  sql?: string;
}

/** What the generic reader may read of a tenant's table. Names come from code, never from a request. */
export interface Shape {
  table: string;
  /** In the order of output. */
  columns: Readonly<Record<string, ColumnShape>>;
  /** A predicate that every read adds, such as `deleted_at is null`. */
  visible?: string;
}

/** A query that does not fit the table's shape. `field` is the query key that is at fault. */
export class QueryError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = "QueryError";
    this.field = field;
  }
}

/** What a statement over the table's rows goes on with, so that it passes over the hidden ones. */
export function andVisible({ visible }: Shape): Fragment {
  return raw(visible === undefined ? "" : ` and (${visible})`);
}
