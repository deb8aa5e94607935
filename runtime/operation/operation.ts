import { z } from "zod";
import type { Group } from "#db/database.ts";
import type { Page, Reader } from "#db/query/reader.ts";
import type { ExportSource } from "#db/stream/export.ts";
import type { FaultCode } from "#runtime/faults.ts";
import type { Together } from "#runtime/together.ts";
import type { Deprecation } from "#runtime/versions.ts";
import type { Access, Context, Effect, Scope } from "./context.ts";
import type { Property } from "./property.ts";
import type { Table, Tenants, Verb } from "./table.ts";

const DRY_RUN = z.boolean().default(false).describe("Only says what would happen, and changes nothing");
const WAS_DRY = z.literal(true).optional().describe("Nothing was changed: this is what would have happened");

type Shape = z.ZodRawShape;
type In<I extends Shape> = z.output<z.ZodObject<I>>;
/** Input without its type. */
type Input = Record<string, unknown>;

/**
 * The parts of an operation that every face reads. The catalog holds these, without the types of input and output.
 */
export interface Operation {
  readonly kind: "tool";
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: Scope;
  readonly effect: Effect;
  readonly access: Access;
  /** The wire field that names the tenant; null when the credential alone does. */
  readonly property: string | null;
  /** `system` operations run over the platform's own tables. */
  readonly realm: "property" | "system";
  readonly input: z.ZodObject;
  readonly output: z.ZodType;
  readonly faults: readonly FaultCode[];
  /** Added by the catalog. */
  readonly deprecations: readonly Deprecation[];
  /** HTTP status of success. */
  readonly status: 200 | 201 | 202;
  /** Fields of the result that are shown once and never stored, logged or replayed. */
  readonly secrets: readonly string[];
  /** Fields of the input that no question repeats: passwords and vendors' credentials. */
  readonly sealed: readonly string[];
  /** The table of this CRUD operation. */
  readonly crud?: { table: Table; verb: Verb };
  handler(context: Context, input: Input): Promise<unknown>;
  /** Replaces the handler where a request brings several inputs: writes their records with few statements. */
  together?(context: Context, inputs: Input[]): Promise<Together>;
  /** The same with one audit row for all. Answers in their order. */
  many?(context: Context, inputs: Input[]): Promise<unknown[]>;
  /** Instead of the handler, for what the generic reader answers: JSON text as the database printed it. */
  read?(reader: Reader, property: Property, input: Input, db: Tenants): Promise<Page>;
  /** It changes many records in one call. */
  readonly bulk: boolean;
  /** Its handler may ask a person to agree first, where an agent calls; see `Context.ask`. */
  readonly asks: boolean;
  /**
   * Its records decide the content, audience or provider of messages: `afterwards` compares those with the approvals.
   */
  readonly shapesMessages: boolean;
  /** Rules over players read its records: `afterwards` asks before an agent's call moves a player in a journey. */
  readonly movesPlayers: boolean;
  /** Runs once before the handlers, with the ids in the inputs, and answers what runs behind them. The catalog adds it. */
  readonly watch?: (context: Context, ids: string[]) => Promise<(ids: string[]) => Promise<void>>;
  /** Runs once behind the handlers of a call, with the ids of its records and players. The catalog adds it. */
  readonly afterwards?: (context: Context, ids: string[]) => Promise<void>;
  /** The operation whose preview also confirms this one. This one's handler compares the shown state. */
  readonly confirmedBy?: string;
  /** It decides on proposed calls, which it finds by their names. The catalog adds this. */
  readonly others?: (name: string) => Operation | undefined;
  readonly decides: boolean;
  /** An upsert: only its records say which operation runs. It answers all records, or the new ones. */
  readonly merges?: "all" | "new";
  /** Personal data leaves the service by this operation: the audit log records it, although it changes nothing. */
  readonly recorded: boolean;
  /** Over REST `?format=zip` answers the result as a ZIP file of this name, with a JSON file for each of its parts. */
  readonly zipped?: string;
  /** Its transaction is always rolled back: it writes what it computes with, and its answer is all that stays. */
  readonly discarded: boolean;
  /** It renders or counts for long: few run at once for a property. */
  readonly heavy: boolean;
  /** Milliseconds for a call that has much to look through. Default: as any request. */
  readonly deadline?: number;
  /**
   * The group of calls that may share a transaction with this one. The handler then refuses with `commitWrites`, and
   * before it writes, because any other error makes each call of the transaction run again by itself.
   */
  readonly sharing?: (input: never) => Group;
  /** The largest body over REST in bytes, where the usual megabyte is too small. */
  readonly mostBytes?: number;
  /** The specification names the operation: agents see it before they search. */
  readonly core: boolean;
  /** The REST path, where it does not follow from the name. The method is POST unless `methods` says otherwise. */
  readonly at?: { readonly path: string; readonly methods?: readonly ("GET" | "POST")[] };
  /** A list of a record's results, which is also read beneath the record; `csv` gives all as a file. */
  readonly beneath?: { readonly table: Table; readonly name: string; readonly csv: Operation };
  /** Fields for which a file can be sent as the body over REST; the first is the file's own text. */
  readonly upload?: readonly string[];
  /**
   * The operation answers a file instead of JSON. Its handler checks everything and answers the source of the bytes.
   */
  readonly file?: { readonly contentType: string };
}

/**
 * Whether an answer is recorded under its Idempotency-Key. A plain read's is not: it would be stale, such as a check
 * of consent from before a STOP. A file's is not: every download is recorded.
 */
export function recordsAnswer({ effect, recorded, file }: Operation): boolean {
  return effect !== "read" || (recorded && !file);
}

/** The result of a file's operation after its checks: the bytes flow after its transaction. */
export interface File {
  filename: string;
  source: ExportSource;
  /** The number of rows, for callers who see only the start. */
  rows?: number | undefined;
}

interface ToolDefinition<I extends Shape, O extends z.ZodType> {
  name: string;
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
  sealed?: readonly string[];
  crud?: { table: Table; verb: Verb };
  bulk?: boolean;
  asks?: boolean;
  shapesMessages?: boolean;
  movesPlayers?: boolean;
  decides?: boolean;
  merges?: "all" | "new";
  confirmedBy?: string;
  recorded?: boolean;
  zipped?: string;
  discarded?: boolean;
  heavy?: boolean;
  deadline?: number;
  sharing?(input: In<I>): Group;
  mostBytes?: number;
  core?: boolean;
  at?: Operation["at"] & object;
  beneath?: Operation["beneath"] & object;
  upload?: readonly string[];
  handler(context: Context, input: In<I>): Promise<z.input<O>>;
  together?(context: Context, inputs: In<I>[]): Promise<Together>;
  many?(context: Context, inputs: In<I>[]): Promise<z.input<O>[]>;
}

/** An operation of the service: one file, one name, every face. */
export function tool<I extends Shape, O extends z.ZodType>(definition: ToolDefinition<I, O>): Operation {
  const operation: Operation = {
    deprecations: [],
    access: "property",
    property: null,
    realm: "property",
    status: 200,
    secrets: [],
    sealed: [],
    bulk: false,
    asks: false,
    shapesMessages: false,
    movesPlayers: false,
    decides: false,
    core: false,
    recorded: false,
    discarded: false,
    heavy: false,
    ...definition,
    kind: "tool",
    input: z.strictObject(definition.input),
    handler: definition.handler as Operation["handler"],
  };
  return canBeTried(operation) ? tried(operation) : operation;
}

/**
 * Whether the operation reaches people, is irreversible or changes many records: the funnel then rolls a `dry_run`
 * back.
 */
export function canBeTried({ effect, access, bulk }: Operation): boolean {
  return (isGrave({ effect }) || bulk) && access !== "public";
}

/** Whether the operation reaches people or is irreversible, so that an agent sees a preview first. */
export function isGrave({ effect }: Pick<Operation, "effect">): boolean {
  return effect === "contact" || effect === "destroy";
}

/** Whether agents are asked before it is done: always, or where its handler asks. */
export function mayAsk(operation: Pick<Operation, "effect" | "asks">): boolean {
  return isGrave(operation) || operation.asks;
}

/** The operation with `dry_run`. The handler gets that field only where the preview needs it. */
export function tried(operation: Operation): Operation {
  const { input, output } = operation;
  const own = Object.hasOwn(input.shape, "dry_run");
  const handler = (context: Context, given: Input) => {
    const { dry_run: _, ...rest } = given;
    return operation.handler(context, own ? given : rest);
  };
  return {
    ...operation,
    input: z.strictObject({ dry_run: DRY_RUN, ...input.shape }),
    output: output instanceof z.ZodObject ? output.extend({ dry_run: WAS_DRY }) : output,
    handler,
  };
}

/** The view of a file for faces that speak JSON alone. */
const FileView = z.object({
  filename: z.string(),
  text: z.string().describe("The file, or its first whole records"),
  has_more: z.boolean().describe("The file goes on; url and REST give it whole"),
  rows: z.int().optional().describe("Of the whole file"),
  url: z.url().optional().describe("The whole file, without a credential, until expires_at"),
  expires_at: z.iso.datetime().optional(),
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
  const common = { scope: "read", effect: "read", recorded: true } as const;
  // The handler answers a File; the funnel makes the view of it.
  return { ...tool<I, z.ZodType>({ ...definition, ...common, output: FileView }), file: { contentType } };
}
