import type {
  CallToolResult,
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  InputRequiredResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerContext,
  ServerEventBus,
} from "@modelcontextprotocol/server";
import type { Work } from "./mcp-tasks.ts";

/**
 * What an endpoint shows beside its catalog, so that the official conformance suite finds what it asks for and the
 * real pipeline answers it. A service that is started shows none: only tests can hand any over.
 */
export interface Exhibits {
  /** Tools that tell of their progress, which the revisions before 2026-07-28 are told of by a stream alone. */
  streaming: ReadonlySet<string>;
  /** Turns what such a tool has answered into content that no operation of ours has. */
  present(
    name: string,
    result: CallToolResult | InputRequiredResult,
    context: ServerContext,
  ): Promise<CallToolResult | InputRequiredResult>;
  /** Is given the way to each stream that is opened. */
  heard(bus: ServerEventBus): void;
  /** Work of such tools that goes on after their call. */
  works: readonly Work[];
  resources: readonly Resource[];
  templates: readonly ResourceTemplateType[];
  read(uri: string): ReadResourceResult | null;
  complete(params: CompleteRequest["params"]): CompleteResult | null;
  prompts: readonly Prompt[];
  prompt(
    name: string,
    given: Readonly<Record<string, string>>,
    context: ServerContext,
  ): GetPromptResult | InputRequiredResult | null;
}
