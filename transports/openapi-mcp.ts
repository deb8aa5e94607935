import { DESCRIPTION, REVISIONS } from "./mcp-identity.ts";
import { headerReferences } from "./openapi-responses.ts";
import { type Json, referenceTo } from "./openapi-schemas.ts";

export const MCP_TAG = { name: "mcp", description: "The same operations as tools for AI agents" };

/** What is said in both directions. */
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

/** The endpoint of the Model Context Protocol, as far as OpenAPI has words for it. */
export function mcpPath(): Json {
  const option = (name: string, description: string): Json => ({
    ...{ name, in: "query", description },
    schema: { type: "string" },
  });
  const answered = (description: string, content?: Json): Json => ({
    description,
    headers: headerReferences(),
    ...(content && { content }),
  });
  const message = referenceTo("JsonRpc");
  const refused = { anyOf: [referenceTo("Error"), message] };
  return {
    post: {
      operationId: "mcp",
      summary: "Speak the Model Context Protocol",
      description: `${DESCRIPTION} Streamable HTTP, revisions ${REVISIONS.join(", ")}.`,
      tags: [MCP_TAG.name],
      parameters: [
        option("toolsets", "all, or domains, separated by commas."),
        option("read_only", "true leaves out what writes."),
        option("exclude", "Tools to leave out, separated by commas."),
        option("pii", "masked hides what identifies people."),
        { $ref: "#/components/parameters/PropertyId" },
      ],
      requestBody: { required: true, content: { "application/json": { schema: message } } },
      responses: {
        200: answered("The answer.", {
          "application/json": { schema: message },
          "text/event-stream": { schema: { type: "string" } },
        }),
        202: answered("A notification was taken in."),
        401: { $ref: "#/components/responses/E401" },
        429: { $ref: "#/components/responses/E429" },
        default: answered("Refused.", { "application/json": { schema: refused } }),
      },
    },
  };
}
