import { DESCRIPTION, REVISIONS } from "#transports/mcp/identity.ts";
import { type HeaderName, headerReferences } from "./responses.ts";
import { type Json, referenceTo } from "./schemas.ts";

export const MCP_TAG = { name: "mcp", description: "The same operations as tools for AI agents" };

/** A message of JSON-RPC, in either direction. */
export const JSON_RPC: Json = {
  type: "object",
  required: ["jsonrpc"],
  properties: {
    jsonrpc: { const: "2.0" },
    id: { type: ["string", "integer", "null"] },
    method: { type: "string" },
    params: { type: "object" },
    result: { type: "object" },
    error: {
      type: "object",
      required: ["code", "message"],
      properties: { code: { type: "integer" }, message: { type: "string" }, data: {} },
    },
  },
};

/** The MCP endpoint, as far as OpenAPI can describe it. */
export function mcpPath(): Json {
  const option = (name: string, description: string): Json => ({
    ...{ name, in: "query", description },
    schema: { type: "string" },
  });
  const answered = (description: string, content?: Json, beside: HeaderName[] = []): Json => ({
    description,
    headers: headerReferences(beside),
    ...(content && { content }),
  });
  const message = referenceTo("JsonRpc");
  const refused = { anyOf: [referenceTo("Error"), message] };
  return {
    post: {
      operationId: "mcp",
      summary: "Send a message of the Model Context Protocol",
      description: `${DESCRIPTION} Streamable HTTP, revisions ${REVISIONS.join(", ")}.`,
      tags: [MCP_TAG.name],
      parameters: [
        option("toolsets", "all, or domains, separated by commas."),
        option("read_only", "true leaves out the tools that write."),
        option("exclude", "Tools to leave out, separated by commas."),
        option("pii", "masked shows no whole address, name or birth date."),
        { $ref: "#/components/parameters/PropertyId" },
        { $ref: "#/components/parameters/IdempotencyKey" },
      ],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: message,
            example: { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} },
          },
        },
      },
      responses: {
        200: answered(
          "The answer.",
          { "application/json": { schema: message }, "text/event-stream": { schema: { type: "string" } } },
          ["Idempotency-Replayed"],
        ),
        202: answered("The notification was accepted."),
        401: { $ref: "#/components/responses/E401" },
        429: { $ref: "#/components/responses/E429" },
        default: answered("Refused.", { "application/json": { schema: refused } }),
      },
    },
  };
}
