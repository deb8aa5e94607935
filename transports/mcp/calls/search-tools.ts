import type { CallToolResult } from "@modelcontextprotocol/server";
import { requirementOf } from "#runtime/funnel/access.ts";
import type { Call } from "#runtime/operation/context.ts";
import { inputFault } from "#runtime/operation/input.ts";
import { errorResult, failureOf } from "#transports/mcp/answers/errors.ts";
import { notOffered } from "#transports/mcp/listing/not-offered.ts";
import { SearchInput } from "#transports/mcp/listing/tools.ts";
import type { Machine, Surface } from "#transports/mcp/listing/visible-tools.ts";

/** Runs search_tools: the tools in reach that fit a request, and those that are withheld here, with what they need. */
export function searchTools(
  { surfaces }: Machine,
  surface: Surface,
  call: Call,
  input: unknown,
): CallToolResult {
  const parsed = SearchInput.safeParse(input);
  if (!parsed.success) return errorResult(failureOf(inputFault(parsed.error)), call.requestId, surface);
  const { query, limit, include_schema } = parsed.data;
  const missing = notOffered(query);
  const { found, withheld } = surface.search(query, limit);
  const names = found.map(({ operation }) => operation.name);
  const not_permitted = withheld.map(({ operation }) => ({
    name: operation.name,
    title: operation.title,
    needs: surfaces.allows(call, operation)
      ? `another connection or key: ${surface.leftOutBy(operation)} leaves it out of this one`
      : requirementOf(operation),
  }));
  return {
    structuredContent: {
      ...(missing && { not_offered: missing }),
      tools: found.map(({ text, toolset }) => ({
        name: text.name,
        title: text.title,
        description: text.description,
        toolset,
        hints: text.annotations,
        ...(include_schema && { input_schema: text.inputSchema }),
      })),
      ...(not_permitted.length > 0 && { not_permitted }),
    },
    content: [
      {
        type: "text",
        text: [
          ...(missing ? [missing] : []),
          names.length > 0
            ? `${missing ? "Nearest" : "Found"}: ${names.join(", ")}. Run one with call_tool.`
            : "No tool fits. Use other words.",
          ...not_permitted.map(({ name, needs }) => `Not permitted here: ${name}, which needs ${needs}.`),
        ].join(" "),
      },
    ],
  };
}
