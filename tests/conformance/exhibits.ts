import { inputRequired } from "@modelcontextprotocol/server";
import type { Exhibits } from "#transports/mcp-exhibits.ts";
import { SLOW } from "./tasks.ts";
import { filledIn, heard, PIXEL, present, STREAMING } from "./tools.ts";

const written = (name: string, ...given: string[]) => ({
  name,
  description: name.replaceAll("_", " "),
  arguments: given.map((one) => ({ name: one, description: one, required: true })),
});
const user = (text: string) => ({ role: "user" as const, content: { type: "text" as const, text } });

/** What the official conformance suite asks a server to show, beside its tools. */
export const EXHIBITS: Exhibits = {
  streaming: STREAMING,
  present,
  heard,
  works: [SLOW],
  resources: [
    { uri: "test://static-text", name: "static-text", mimeType: "text/plain" },
    { uri: "test://static-binary", name: "static-binary", mimeType: "image/png" },
  ],
  templates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
  read: (uri) => {
    if (uri === "test://static-text") {
      const text = "This is the content of the static text resource.";
      return { contents: [{ uri, mimeType: "text/plain", text }] };
    }
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: PIXEL }] };
    const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1];
    if (id === undefined) return null;
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: "application/json", text }] };
  },
  complete: ({ ref }) =>
    ref.type === "ref/prompt" && ref.name === "test_prompt_with_arguments"
      ? { completion: { values: [], total: 0, hasMore: false } }
      : null,
  prompts: [
    written("test_simple_prompt"),
    written("test_prompt_with_arguments", "arg1", "arg2"),
    written("test_prompt_with_embedded_resource", "resourceUri"),
    written("test_prompt_with_image"),
    written("test_input_required_result_prompt"),
  ],
  prompt: (name, given, context) => {
    if (name === "test_simple_prompt") return { messages: [user("This is a simple prompt for testing.")] };
    if (name === "test_prompt_with_arguments") {
      return { messages: [user(`Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'`)] };
    }
    if (name === "test_prompt_with_image") {
      return {
        messages: [
          { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
          user("Please analyze the image above."),
        ],
      };
    }
    if (name === "test_prompt_with_embedded_resource") {
      const resource = {
        uri: String(given.resourceUri),
        mimeType: "text/plain",
        text: "Embedded resource content for testing.",
      };
      return {
        messages: [
          { role: "user", content: { type: "resource", resource } },
          user("Please process the embedded resource above."),
        ],
      };
    }
    if (name !== "test_input_required_result_prompt") return null;
    const said = filledIn(context, "user_context", "context");
    if (said) return { messages: [user(`Prompt with context: ${said}`)] };
    const message = "What context should the prompt use?";
    return inputRequired({
      inputRequests: {
        user_context: inputRequired.elicit({
          message,
          requestedSchema: {
            type: "object",
            properties: { context: { type: "string" } },
            required: ["context"],
          },
        }),
      },
    });
  },
};
