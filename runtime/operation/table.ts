import type { z } from "zod";
import type { Database } from "#db/database.ts";
import type { Query } from "#db/query/parse.ts";
import type { Form, ReadableTable } from "#db/query/readable-table.ts";
import type { UntilRefused } from "#runtime/together.ts";
import type { Context, Effect } from "./context.ts";
import type { EventName } from "./events.ts";
import type { Property } from "./property.ts";

export type Verb = "list" | "get" | "create" | "update" | "delete";

/** `always`: callers write it. `create`: callers write it at creation only. `never`: the service alone writes it. */
export type Writing = "always" | "create" | "never";

/** `answered`: callers read it. `internal`: the service alone reads it. `sealed`: it is stored sealed, and never answered. */
export type Readability = "answered" | "internal" | "sealed";

/** Rules of a column beside its schema. */
export interface ColumnRules {
  /** The record's states in which an update may write the column. Default: all. */
  readonly while?: readonly string[];
  /** A copy of the record keeps the value. */
  readonly copied?: true;
  /** Part of a list for agents that choose no columns. Default: a table without such columns shows all. */
  readonly concise?: true;
  /** Left out of events, because it is long or holds data of many people. */
  readonly omitFromEvents?: true;
  /** Checks that `beforeWrite` makes when a caller writes the column; see `isChecked`. */
  readonly checks?: readonly string[];
  /** The one form in which the values are stored, in which filters compare them. An enum has one anyway. */
  readonly form?: Form;
  /** The keys of its JSON objects. A filter by another key is refused. */
  readonly keys?: readonly string[];
  /** Its values are the property's own words: a filter by one that nothing has is told which there are. */
  readonly vocabulary?: true;
  /** Filled in for one person, or written by one: it may name them, and its links are theirs. Masked answers leave it out. */
  readonly rendered?: true;
  /** Computes the column from the table's own columns when it is read. */
  readonly sql?: string;
}

/** A column of a table, described once with zod. */
export interface Column<
  S extends z.ZodType = z.ZodType,
  W extends Writing = Writing,
  R extends Readability = Readability,
> extends ColumnRules {
  readonly schema: S;
  readonly write: W;
  readonly read: R;
}

export type Columns = Readonly<Record<string, Column>>;

/** The columns of every record. */
type Base = { id: string; property_id: string; created_at: string; updated_at: string };
type Stored<S extends z.ZodType> = Exclude<z.output<S>, undefined>;
type Unread<R extends Readability> = { readonly read: R };
type Unwritten = { readonly write: "never" };
type CreateOnly = { readonly write: "create" };
type IfOptional<C extends Columns, K extends keyof C> =
  undefined extends z.output<C[K]["schema"]> ? K : never;
type IfRequired<C extends Columns, K extends keyof C> = K extends IfOptional<C, K> ? never : K;

/** A record as it is answered, and as the database's JSON prints it. */
export type RowOf<C extends Columns> = Base & {
  [K in keyof C as C[K] extends Unread<"internal" | "sealed"> ? never : K]: Stored<C[K]["schema"]>;
};

/** A record as it is stored: with the internal columns, and the sealed ones as they are sealed. */
export type StoredOf<C extends Columns> = Base & {
  [K in keyof C]: C[K] extends Unread<"sealed"> ? string : Stored<C[K]["schema"]>;
};

/** A caller's values for a new record, parsed. */
export type NewOf<C extends Columns> = {
  [K in keyof C as C[K] extends Unwritten ? never : IfRequired<C, K>]: Stored<C[K]["schema"]>;
} & {
  [K in keyof C as C[K] extends Unwritten ? never : IfOptional<C, K>]?: Stored<C[K]["schema"]> | undefined;
};

/** The schemas of a caller's values for a new record. */
export type SchemasOf<C extends Columns> = {
  [K in keyof C as C[K] extends Unwritten ? never : K]: C[K]["schema"];
};

/** A caller's values for a change, parsed. */
export type ChangesOf<C extends Columns> = {
  [K in keyof C as C[K] extends Unwritten | CreateOnly ? never : K]?: Stored<C[K]["schema"]> | undefined;
} & { [K in keyof C as C[K] extends CreateOnly ? K : never]?: undefined };

/**
 * A record as a change would leave it. A new record has the columns that callers write, null where they are left out.
 */
export type NextOf<C extends Columns> = Partial<RowOf<C>> & {
  [K in keyof C as C[K] extends Unwritten ? never : K]:
    | Stored<C[K]["schema"]>
    | (K extends IfOptional<C, K> ? null : never);
};

/** A record of any table. */
export type Row = RowOf<Columns>;

/** Values to write, by column. */
export type Values = Record<string, unknown>;

/** A caller's change of a record: `input` is parsed, and `current` is the locked row. */
export type Change<C extends Columns = Columns> =
  | { verb: "create"; input: NewOf<C>; current: null }
  | { verb: "update"; input: ChangesOf<C>; current: RowOf<C> }
  | { verb: "delete"; input: ChangesOf<C>; current: RowOf<C> };

/** A JSON column whose keys are records of another table. */
export interface DefinedKeys {
  readonly column: string;
  readonly definitions: Table;
  /** The definitions' column that holds the key. */
  readonly key: string;
  /** The message about an undefined key. */
  unknown(key: string, definitions: Row[]): string;
  /** How values of a defined key are stored. Undefined: as they are written. */
  form(definition: Row): Form | undefined;
  /** Whether values of a defined key are lists of texts. */
  isList(definition: Row): boolean;
}

/** Opens transactions as a tenant. */
export type Tenants = Pick<Database, "asProperty">;

interface Described<C extends Columns> {
  /** The table as the query reads it, where its rows are computed and not stored. */
  computed?(
    db: Tenants,
    property: Property,
    query: Query,
    readable: ReadableTable,
  ): Promise<ReadableTable | undefined>;
  readonly name: string;
  readonly noun: string;
  readonly description: string;
  readonly columns: C;
  readonly definedKeys?: DefinedKeys;
  /** Partitioned by month of the id; see `ReadableTable`. */
  readonly monthly?: NonNullable<ReadableTable["monthly"]>;
  /**
   * SQL at the start of a transaction that writes or changes rows of a property: the lock that serializes it with
   * others.
   */
  lock?(propertyId: string): string;
  /** The values to write, from the caller's; may add columns that callers do not write. */
  beforeWrite?(context: Context, change: Change<C>): Promise<Values>;
  /**
   * The same for all creates and updates of a request in their order, with few statements for all of them; `beforeWrite`
   * gets the removals alone then. The records are written behind it: it reads nothing that they change.
   */
  beforeWrites?(context: Context, changes: Change<C>[]): Promise<UntilRefused<Values>>;
  /** Runs in the same transaction once the row is written. */
  afterWrite?(context: Context, change: Change<C> & { row: RowOf<C> }): Promise<void>;
  /** The text of the question about a removal. Default: the record, and that nothing brings it back. */
  removalWords?(context: Context, row: RowOf<C>): Promise<string[]>;
}

interface Settings {
  readonly verbs: readonly Verb[];
  /** Verbs that have an operation file of their own, with `crud: { table, verb }`. */
  readonly own: readonly Verb[];
  /** Verbs that the specification names. */
  readonly core: readonly Verb[];
  /** Columns that no two records share. An upsert finds a record by them or by its id. */
  readonly key: readonly string[];
  /** The column by which people name a record, where they do not have its id. */
  readonly called?: string;
  /** `deleted_at` is set instead of removing the row, and such rows are hidden. */
  readonly softDelete: boolean;
  /** Single creates may share a transaction: their hooks read nothing that another create changes. */
  readonly groupCommit: boolean;
  readonly events: Partial<Record<"create" | "update" | "delete", EventName>>;
  readonly effects: Partial<Record<Verb, Effect>>;
  /** Verbs by which an agent may have to ask a person first; see `Context.ask`. */
  readonly asks: readonly Verb[];
  /** Verbs that change the content, the audience or the provider of messages which people have approved. */
  readonly shapesMessages: readonly Verb[];
  /** Rules over players read the rows. */
  readonly movesPlayers: boolean;
  /** Values that only the creation's answer shows; stored sealed. */
  readonly secrets: Readonly<Record<string, z.ZodType>>;
}

/** A table of the REST surface. Only with `C` do its columns have types; the catalog forgets them. */
export interface Table<C extends Columns = Columns> extends Described<C>, Settings {
  readonly kind: "table";
}

/** A table of the REST surface, and the operations that come with it. */
export function table<C extends Columns>(definition: Described<C> & Partial<Settings>): Table<C> {
  return {
    verbs: ["list", "get", "create", "update", "delete"],
    own: [],
    core: [],
    key: [],
    softDelete: false,
    groupCommit: false,
    events: {},
    effects: {},
    asks: [],
    shapesMessages: [],
    movesPlayers: false,
    secrets: {},
    ...definition,
    kind: "table",
  };
}
