import { type InputRequests, inputRequired, isInputRequiredResult } from "@modelcontextprotocol/server";
import { maskedText, maskedValue } from "#runtime/masking/values.ts";
import type { ToolResult } from "#transports/mcp/answers/results.ts";

/** Masks a tool's whole result, its sentences, and the question for the human. */
export function maskedResult(whole: ToolResult): ToolResult {
  if (isInputRequiredResult(whole)) {
    const { inputRequests, ...rest } = whole;
    return inputRequired({ ...rest, inputRequests: maskedValue(inputRequests) as InputRequests });
  }
  const { structuredContent, content, ...result } = whole;
  return {
    ...result,
    ...(structuredContent !== undefined && {
      structuredContent: maskedValue(structuredContent) as Record<string, unknown>,
    }),
    content: content.map((part) => (part.type === "text" ? { ...part, text: maskedText(part.text) } : part)),
  };
}
