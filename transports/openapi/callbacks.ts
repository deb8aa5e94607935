import { PROVIDERS } from "#runtime/channels/index.ts";
import type { Provider, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { ID_PARAMETER } from "./parameters.ts";
import type { Json } from "./schemas.ts";
import { NOTICE_EXAMPLES } from "./vendor-notices.ts";

/** The address for vendors' delivery notices. Their signature is the only credential. */
export const CALLBACKS_PATH = "/api/callbacks/{provider}/{id}";

/** The vendors that send callbacks. */
const VENDORS = Object.values(PROVIDERS)
  .flatMap((channel) => Object.values(channel) as Provider<never, SendingChannel>[])
  .filter(({ callbacks }) => callbacks !== undefined);

export const CALLBACK_ERRORS = [400, 401, 404, 413, 429, 500, 503];

export function callbacksPath(headers: Json): Json {
  const answers = VENDORS.flatMap(({ callbacks }) => callbacks?.answer?.contentType ?? []);
  const schema = { description: "The vendor's own format." };
  const bodies = Object.entries(NOTICE_EXAMPLES).map(([type, example]) => [type, { schema, example }]);
  return {
    post: {
      operationId: "vendor_callback",
      summary: "Receive a vendor's notices",
      description:
        "Only for message vendors: deliveries, bounces, complaints and replies of players. The address is the callback_url of a message provider, and every request carries the vendor's own signature. A repeated notice counts once.",
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
        content: Object.fromEntries(bodies),
      },
      responses: {
        200: {
          description: "All notices are stored.",
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
