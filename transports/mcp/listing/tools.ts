import { z } from "zod";
import { type Fault, invalid } from "#runtime/faults.ts";
import type { Effect } from "#runtime/operation/context.ts";
import { inputFault } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { inputSchemaOf, type JsonSchema, type ObjectSchema, outputSchemaOf } from "./schemas.ts";

/** The four hints for clients' decisions. */
export interface Hints {
  readOnlyHint: boolean;
  destructiveHint: boolean;
  idempotentHint: boolean;
  openWorldHint: boolean;
}

/** A tool as `tools/list` shows it. */
export interface ToolText {
  name: string;
  title: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations: Hints & { title: string };
}

/** An operation as a tool. */
export interface OfferedTool {
  operation: Operation;
  /** The tool's domain. */
  toolset: string;
  inputSchema: ObjectSchema;
  text: ToolText;
  /** Tools that the descriptions of its fields name, by field: they give the field's value. */
  sources: ReadonlyMap<string, readonly string[]>;
}

/** Repeating a change or a removal has no further effect. A contact reaches people and cannot be undone. */
const HINTS: Record<Effect, Hints> = {
  read: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  create: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  change: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  destroy: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  contact: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
};

/** Describes an operation as a tool. The first ask makes each schema: all of them together take a quarter of a second. */
export function offeredTool(operation: Operation, toolset: string): OfferedTool {
  const { name, title, description } = operation;
  let inputSchema: ObjectSchema | undefined;
  let text: ToolText | undefined;
  const tool: OfferedTool = {
    operation,
    toolset,
    get inputSchema() {
      inputSchema ??= inputSchemaOf(operation);
      return inputSchema;
    },
    get sources() {
      return sourcesOf(tool.inputSchema);
    },
    get text() {
      text ??= {
        name,
        title,
        description,
        inputSchema: tool.inputSchema,
        outputSchema: outputSchemaOf(operation),
        annotations: { title, ...HINTS[operation.effect] },
      };
      return text;
    },
  };
  return tool;
}

/** Matches the form of a tool's name in a text. */
export const TOOL_NAME = /\b[a-z]+(?:_[a-z]+)+\b/g;

function sourcesOf({ properties }: ObjectSchema): Map<string, string[]> {
  const named = Object.entries(properties).map(([field, { description }]): [string, string[]] => [
    field,
    typeof description === "string" ? [...description.matchAll(TOOL_NAME)].map(([name]) => name) : [],
  ]);
  return new Map(named.filter(([, names]) => names.length > 0));
}

/** The arguments of search_tools. */
export const SearchInput = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(500)
    .describe('What you want to do, in a few words, such as "stop a campaign".'),
  limit: z.int().min(1).max(15).default(5).describe("How many tools to return."),
  include_schema: z.boolean().default(false).describe("Also return each tool's input schema."),
});

/** The arguments of call_tool. */
export const CallInput = z.strictObject({
  name: z.string().describe("From search_tools."),
  arguments: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("By the tool's input schema, from search_tools."),
});

/** The fault of call_tool's arguments. One of the tool, such as a confirm_token, belongs among that tool's. */
export function callFault(error: z.ZodError, input: Record<string, unknown>): Fault {
  const beside = Object.keys(input).find(
    (key) => !(key in CallInput.shape) && typeof input[key] !== "object",
  );
  if (beside === undefined) return inputFault(error);
  return invalid(`arguments.${beside}`, "stands beside the arguments, and belongs inside");
}

export const SEARCH_TOOLS: ToolText = {
  name: "search_tools",
  title: "Search tools",
  description:
    "Finds tools that are not in this list, by what they do. Returns name, description, toolset and hints, best first. Run one with call_tool.",
  inputSchema: schemaOf(SearchInput),
  annotations: { title: "Search tools", ...HINTS.read },
};

/** The tool that runs any other, so its hints are the worst of all tools. */
export const CALL_TOOL = (readOnly: boolean): ToolText => ({
  name: "call_tool",
  title: "Call a tool by name",
  description:
    "Runs any tool by its name, also those that are not in this list. Call search_tools with include_schema first, to know its arguments.",
  inputSchema: schemaOf(CallInput),
  annotations: { title: "Call a tool by name", ...HINTS[readOnly ? "read" : "contact"] },
});

function schemaOf(input: z.ZodObject): ObjectSchema {
  const {
    $schema: _,
    additionalProperties: __,
    ...json
  } = z.toJSONSchema(input, { io: "input" }) as JsonSchema;
  return json as ObjectSchema;
}
