import { z } from "zod";
import type { Page, Reader } from "#db/query/reader.ts";
import type { ExportSource } from "#db/stream/export.ts";
import type { FaultCode } from "#runtime/faults.ts";
import type { Access, Context, Effect, Scope } from "./context.ts";
import type { Table, Verb } from "./table.ts";
import type { Deprecation } from "./versions.ts";

const DRY_RUN = z.boolean().default(false).describe("Only says what would happen, and changes nothing");
const WAS_DRY = z.literal(true).optional().describe("Nothing was changed: this is what would have happened");

type Shape = z.ZodRawShape;
type In<I extends Shape> = z.output<z.ZodObject<I>>;
/** Input whose type is forgotten. */
type Input = Record<string, unknown>;

/** What every face reads of an operation. The catalog holds these: types of input and output are forgotten. */
export interface Operation {
  readonly kind: "tool";
  readonly name: string;
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
  /** The catalog adds them. */
  readonly deprecations: readonly Deprecation[];
  /** HTTP status of success. */
  readonly status: 200 | 201 | 202;
  /** Fields of the result that are shown once and never stored, logged or replayed. */
  readonly secrets: readonly string[];
  /** The table whose CRUD this operation is, if it is. */
  readonly crud?: { table: Table; verb: Verb };
  handler(context: Context, input: Input): Promise<unknown>;
  /** Instead of the handler once for each, where one request brings several inputs. Answers in their order. */
  many?(context: Context, inputs: Input[]): Promise<unknown[]>;
  /** Instead of the handler, for what the generic reader answers: JSON text as the database printed it. */
  read?(reader: Reader, property: string, input: Input): Promise<Page>;
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
  source: ExportSource;
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
    deprecations: [],
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

/** Whether it reaches people, cannot be taken back or changes many records: the funnel then undoes what says `dry_run`. */
export function canBeTried({ effect, access, bulk }: Operation): boolean {
  return (isGrave({ effect }) || bulk) && access !== "public";
}

/** Whether it reaches people or cannot be taken back, so that an agent is shown first what it would do. */
export function isGrave({ effect }: Pick<Operation, "effect">): boolean {
  return effect === "contact" || effect === "destroy";
}

/** The operation with `dry_run`, which its handler is given only where it has more to say of it. */
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
  const common = { scope: "read", effect: "read", recorded: true } as const;
  // The handler answers a File, of which the funnel makes the view.
  return { ...tool<I, z.ZodType>({ ...definition, ...common, output: FileView }), file: { contentType } };
}
