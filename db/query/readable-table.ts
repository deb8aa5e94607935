import type { Fragment } from "#db/sql.ts";

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

/** The one form in which a column's values are stored. */
export interface Form {
  /** A value as somebody writes it in that form; null for one that no record can have. `home`: the property's country. */
  fit(text: string, home: string): string | null;
  /** The stored values that mean the same as this one, and itself. Absent: it alone. */
  same?(fitted: string): string[];
  /** The rule for the values, in words. */
  wants: string;
}

export interface ReadableColumn {
  type: ColumnType;
  /** Values are compared in this form. */
  form?: Form;
  /** The keys that its JSON objects can have: a misspelt one is null in every row. Absent: any. */
  keys?: readonly string[];
  /** An SQL expression over the table's own columns, for a column that is computed on the way out. */
  sql?: string;
}

/** The part of a tenant's table that the generic reader may read. Names come from code, never from a request. */
export interface ReadableTable {
  table: string;
  /** In the order of output. */
  columns: Readonly<Record<string, ReadableColumn>>;
  /** Rows that are computed in place of the table's, as a named part of `from`. */
  from?: Fragment;
  /**
   * Partitioned by month of the id, a UUIDv7. `lag`: the most milliseconds by which created_at follows the id's time.
   * `at`: a column that answers created_at under its own name.
   */
  monthly?: { lag: number; at?: string };
  /** A predicate that every read adds, such as `deleted_at is null`. */
  visible?: string;
}

/** A query that does not fit the table. `field` is the faulty query key. */
export class QueryError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = "QueryError";
    this.field = field;
  }
}
