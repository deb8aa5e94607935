import { z } from "zod";
import { one } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { seal } from "#runtime/secrets/sealing.ts";
import { newSigningSecret } from "#runtime/secrets/signature.ts";
import { endpointId, propertyId, secretPlace } from "./endpoint.ts";

export default tool({
  name: "rotate_webhook_secret",
  title: "Rotate a webhook's signing secret",
  description:
    "Gives an endpoint a new signing secret and shows it once. For overlapHours the old secret signs deliveries too (X-…-Signature-Previous, and second in webhook-signature).",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    propertyId,
    endpointId,
    overlapHours: z.number().min(0).max(168).default(24).describe("0 ends the old secret at once"),
  },
  output: z.object({
    success: z.literal(true),
    secret: z.string().optional().describe("Shown once: a replay does not have it."),
    previous_secret_until: timestamp().nullable(),
  }),
  faults: ["not_found"],
  secrets: ["secret"],
  async handler({ sql, property, config, audit }, input) {
    const secret = newSigningSecret();
    const sealed = seal(config, secretPlace(property.id, input.endpointId), secret);
    const overlap = input.overlapHours * 3600;
    const endpoints = await sql<{ previous_secret_until: string | null }[]>`
      update webhook_endpoints set
        secret = ${sealed},
        previous_secret = ${overlap > 0 ? sql`secret` : null},
        previous_secret_until = ${overlap > 0 ? sql`now() + make_interval(secs => ${overlap})` : null},
        updated_at = now()
      where property_id = ${property.id} and id = ${input.endpointId}
      returning previous_secret_until`;
    const endpoint = one(endpoints, "webhook endpoint", input.endpointId);
    audit({ entity: "webhook_endpoints", entityId: input.endpointId });
    return { success: true as const, secret, previous_secret_until: endpoint.previous_secret_until };
  },
});
