import type { Provider, SendingChannel } from "#runtime/channels/channel.ts";
import { PROVIDERS } from "#runtime/channels/index.ts";
import { ID_PARAMETER } from "./openapi-parameters.ts";

type Json = Record<string, unknown>;

/** Where the vendors tell what became of messages. They sign what they send: no other credential is asked for. */
export const CALLBACKS_PATH = "/api/callbacks/{provider}/{id}";

/** The vendors that have callbacks, and every answer that one of them wants. */
const VENDORS = Object.values(PROVIDERS)
  .flatMap((channel) => Object.values(channel) as Provider<never, SendingChannel>[])
  .filter(({ callbacks }) => callbacks !== undefined);

export const CALLBACK_ERRORS = [400, 401, 404, 413, 429, 500, 503];

export function callbacksPath(headers: Json): Json {
  const answers = VENDORS.flatMap(({ callbacks }) => callbacks?.answer?.contentType ?? []);
  const anything = { schema: { description: "As the vendor writes it." } };
  return {
    post: {
      operationId: "vendor_callback",
      summary: "Take in a vendor's notices",
      description:
        "For message vendors alone: deliveries, bounces, complaints, answers of players. The address is the callback_url of a message provider, and every request carries the vendor's own signature. A notice that is sent again counts once.",
      tags: ["providers"],
      security: [],
      parameters: [
        {
          name: "provider",
          in: "path",
          required: true,
          description: "The vendor.",
          schema: { type: "string", enum: [...new Set(VENDORS.map(({ name }) => name))].sort() },
        },
        { ...ID_PARAMETER, description: "The message provider's id." },
      ],
      requestBody: {
        required: true,
        content: {
          "application/json": anything,
          "application/x-www-form-urlencoded": anything,
          "text/plain": anything,
        },
      },
      responses: {
        200: {
          description: "All of it is stored.",
          headers,
          content: {
            "application/json": {
              schema: { type: "object", required: ["success"], properties: { success: { const: true } } },
            },
            ...Object.fromEntries(answers.map((type) => [type, { schema: { type: "string" } }])),
          },
        },
        ...Object.fromEntries(
          [...CALLBACK_ERRORS, "default"].map((status) => [
            status,
            { $ref: `#/components/responses/E${status}` },
          ]),
        ),
      },
    },
  };
}
