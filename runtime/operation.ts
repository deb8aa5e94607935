import { z } from "zod";
import type { Sql } from "#db/client.ts";
import type { Source } from "#db/flow.ts";
import type { Page, Reader } from "#db/reader.ts";
import type { Part } from "#db/statement.ts";
import type { Channels } from "./channels/index.ts";
import type { Config } from "./config.ts";
import type { Context, JobReference, Scope } from "./context.ts";
import type { DefinedKeys } from "./defined-keys.ts";
import { canBeTried, tried } from "./dry-run.ts";
import type { EventName } from "./events.ts";
import type { FaultCode } from "./faults.ts";
import type { Log } from "./log.ts";
import type { MailDomains } from "./mail-domains.ts";
import type { Outgoing } from "./outgoing.ts";

/** What a call does to the world; gives the MCP hints, the audit row and what agents must confirm. */
export type Effect = "read" | "create" | "change" | "destroy" | "contact";

/**
 * Who may call. `property`: any credential of the property. `manager`: a user who is admin or manager of
 * the property. `operator`: a platform admin, or the CLI on the machine. `user`: any signed-in user.
 * `public`: nobody needs a credential.
 */
export type Access = "property" | "manager" | "operator" | "user" | "public";

type Shape = z.ZodRawShape;
type In<I extends Shape> = z.output<z.ZodObject<I>>;

/** What every face reads of an operation. The catalog holds these: types of input and output are forgotten. */
export interface Operation {
  readonly kind: "tool";
  readonly name: string;
  /** Names that it had before, by which it is called still. */
  readonly aliases: readonly string[];
  readonly title: string;
  readonly description: string;
  readonly scope: Scope;
  readonly effect: Effect;
  readonly access: Access;
  /** The wire field that names the tenant, or null when the credential alone does. */
  readonly property: string | null;
  /** `system` operations run over the platform's own tables. */
  readonly realm: "property" | "system";
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly faults: readonly FaultCode[];
  /** HTTP status of success. */
  readonly status: 200 | 201 | 202;
  /** Fields of the result that are shown once and never stored, logged or replayed. */
  readonly secrets: readonly string[];
  /** The table whose CRUD this operation is, if it is. */
  readonly crud?: { table: Table; verb: Verb };
  handler(context: Context, input: never): Promise<unknown>;
  /** Instead of the handler once for each, where one request brings several inputs. Answers in their order. */
  many?(context: Context, inputs: never): Promise<unknown[]>;
  /** Instead of the handler, for what the generic reader answers: JSON text as the database printed it. */
  read?(reader: Reader, property: string, input: never): Promise<Page>;
  /** It changes many records in one call. */
  readonly bulk: boolean;
  /** The operation whose preview confirms this one too: its handler compares the state that was shown. */
  readonly confirmedBy?: string;
  /** Personal data leaves by it: it is recorded in the audit log, though it changes nothing. */
  readonly recorded: boolean;
  /** Milliseconds that a call may take, where it has much to look through. Default: as any request. */
  readonly deadline?: number;
  /** Bytes that its body may have over REST, where what it takes needs more than the usual megabyte. */
  readonly mostBytes?: number;
  /** Named by the specification: agents see it before they search. */
  readonly core: boolean;
  /** Where it is reached over REST, where that does not follow from its name; by POST unless said otherwise. */
  readonly at?: { readonly path: string; readonly methods?: readonly ("GET" | "POST")[] };
  /** It lists what a record of a table has found, and is reached beneath that record too; `csv` gives all as a file. */
  readonly beneath?: { readonly table: Table; readonly name: string; readonly csv: Operation };
  /** Fields for which a file can be sent as the body over REST; the first is the file's own text. */
  readonly upload?: readonly string[];
  /** A file instead of JSON: its handler checks everything and says what is to flow. */
  readonly file?: { readonly contentType: string };
}

/**
 * Whether an answer is kept under its Idempotency-Key. Not that of a plain read, which would be stale: a check of
 * consent from before a STOP. Nor a file, whose every download is recorded.
 */
export function keepsAnswer({ effect, recorded, file }: Operation): boolean {
  return effect !== "read" || (recorded && !file);
}

/** What a file's operation answers, once it has checked everything: the bytes flow after its transaction. */
export interface File {
  filename: string;
  source: Source;
}

interface ToolDefinition<I extends Shape, O extends z.ZodType> {
  name: string;
  aliases?: readonly string[];
  title: string;
  description: string;
  scope: Scope;
  effect: Effect;
  access?: Access;
  property?: (keyof I & string) | null;
  realm?: "property" | "system";
  input: I;
  output: O;
  faults: readonly FaultCode[];
  status?: 200 | 201 | 202;
  secrets?: readonly string[];
  crud?: { table: Table; verb: Verb };
  bulk?: boolean;
  confirmedBy?: string;
  recorded?: boolean;
  deadline?: number;
  mostBytes?: number;
  core?: boolean;
  at?: Operation["at"] & object;
  beneath?: Operation["beneath"] & object;
  upload?: readonly string[];
  handler(context: Context, input: In<I>): Promise<z.input<O>>;
  many?(context: Context, inputs: In<I>[]): Promise<z.input<O>[]>;
}

/** An operation of the service: one file, one name, every face. */
export function tool<I extends Shape, O extends z.ZodType>(definition: ToolDefinition<I, O>): Operation {
  const operation: Operation = {
    aliases: [],
    access: "property",
    property: null,
    realm: "property",
    status: 200,
    secrets: [],
    bulk: false,
    core: false,
    recorded: false,
    ...definition,
    kind: "tool",
    input: z.strictObject(definition.input),
    handler: definition.handler as Operation["handler"],
  };
  return canBeTried(operation) ? tried(operation) : operation;
}

/** What faces that speak JSON alone are given of a file. */
const FileView = z.object({
  filename: z.string(),
  text: z.string().describe("The file, or its first whole records"),
  has_more: z.boolean().describe("The file goes on; over REST it comes whole"),
});

/** An operation whose result is a text file with one record a line: REST and the CLI stream it, MCP gets its start. */
export function file<I extends Shape>({
  contentType,
  ...definition
}: Omit<
  ToolDefinition<I, typeof FileView>,
  "output" | "handler" | "effect" | "scope" | "status" | "recorded"
> & {
  contentType: string;
  handler(context: Context, input: In<I>): Promise<File>;
}): Operation {
  const operation = tool({
    ...definition,
    scope: "read",
    effect: "read",
    recorded: true,
    output: FileView,
    handler: definition.handler as never,
  });
  return { ...operation, file: { contentType } };
}

export type Verb = "list" | "get" | "create" | "update" | "delete";

/** A column of a table, described once with zod. */
export interface Column {
  readonly schema: z.ZodType;
  /** `create`: only at creation. `always`: also in updates. `never`: the service alone writes it. */
  readonly write: "always" | "create" | "never";
  /** Computed on the way out from the table's own columns. */
  readonly sql?: string;
  /** Never answered, and stored sealed. */
  readonly secret?: true;
}

/** A record as the database's JSON prints it. */
export type Row = Record<string, unknown> & { id: string };

export interface Change {
  verb: "create" | "update" | "delete";
  /** The caller's values, parsed and cleaned. */
  input: Record<string, unknown>;
  /** The row as it is, locked; null at creation. */
  current: Row | null;
}

/** What only the database knows of values that are to be written. */
export interface Lookup {
  /** SQL that is true where it has nothing to say of a new row, and `afterWrite` has nothing to do for it. */
  clear(context: Context, values: Record<string, unknown>): Part;
  /** Changes the values in view of it, or refuses them. */
  apply(context: Context, values: Record<string, unknown>, current: Row | null): Promise<void>;
}

export interface Table {
  readonly kind: "table";
  readonly name: string;
  readonly noun: string;
  readonly description: string;
  readonly columns: Readonly<Record<string, Column>>;
  readonly verbs: readonly Verb[];
  /** Verbs that have an operation file of their own, with `crud: { table, verb }`. */
  readonly own: readonly Verb[];
  /** Verbs that the specification names. */
  readonly core: readonly Verb[];
  readonly access: Access;
  /** Beside the id, the columns that a list shows agents who do not ask for others. Default: all but the bookkeeping. */
  readonly concise?: readonly string[];
  /** Columns that no two records share, by which an upsert knows a record beside its id. */
  readonly key: readonly string[];
  /** `deleted_at` is set instead of removing the row, and such rows are hidden. */
  readonly softDelete: boolean;
  readonly definedKeys?: DefinedKeys;
  readonly events: Partial<Record<"create" | "update" | "delete", EventName>>;
  readonly effects: Partial<Record<Verb, Effect>>;
  readonly faults: readonly FaultCode[];
  /** Values that only the creation's answer shows; stored sealed. */
  readonly secrets: Readonly<Record<string, z.ZodType>>;
  /** SQL that a transaction begins with which writes or changes rows of a property: for what takes turns with others. */
  turn?(propertyId: string): string;
  /** The values to write, from the caller's; may add columns that callers do not write. */
  beforeWrite?(context: Context, change: Change): Promise<Record<string, unknown>>;
  /** Runs behind `beforeWrite`. */
  lookup?: Lookup;
  /** Runs in the same transaction once the row is written. */
  afterWrite?(context: Context, change: Change & { row: Row }): Promise<void>;
}

type TableDefinition = Pick<Table, "name" | "noun" | "description" | "columns"> &
  Partial<Omit<Table, "kind" | "name" | "noun" | "description" | "columns">>;

/** A table of the REST surface, and the operations that come with it. */
export function table(definition: TableDefinition): Table {
  return {
    verbs: ["list", "get", "create", "update", "delete"],
    own: [],
    core: [],
    access: "property",
    key: [],
    softDelete: false,
    events: {},
    effects: {},
    faults: [],
    secrets: {},
    ...definition,
    kind: "table",
  };
}

export interface JobContext {
  jobId: string;
  attempt: number;
  /** The last attempt: what fails now stays failed. */
  isLast: boolean;
  propertyId: string | null;
  signal: AbortSignal;
  config: Config;
  log: Log;
  runtime: JobRuntime;
  /** One transaction of the tenant, refused when this job's lease has gone to another worker. */
  transact<T>(work: (context: Context) => Promise<T>): Promise<T>;
  /** One transaction over the platform's tables, under the same lease. */
  transactSystem<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
}

/** What jobs may reach beyond the database. The composition root fills it. */
export interface JobRuntime {
  outgoing: Outgoing;
  /** The provider that a job has chosen; `keep` is where `mailbox` puts its messages. */
  open: Channels["open"];
  /** Where domains take mail. */
  mailDomains: MailDomains;
}

export interface Job<Input = never> extends JobReference<Input> {
  readonly kind: "job";
  /** A cron pattern in UTC: the job runs at each tick, once however many processes there are. */
  readonly every?: string;
  handler(context: JobContext, input: Input): Promise<void>;
}

/** Background work: one file, run by the worker under a lease. */
export function job<Input>(definition: Omit<Job<Input>, "kind">): Job<Input> {
  return { ...definition, kind: "job" };
}
