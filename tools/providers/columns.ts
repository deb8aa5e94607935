import { z } from "zod";
import { PROVIDERS } from "#runtime/channels/index.ts";
import { createOnly, readable, timestamp, writable, writeOnly } from "#runtime/operation/columns.ts";
import type { StoredOf } from "#runtime/operation/table.ts";
import { callbackPath, type VendorChannel } from "./provider.ts";

/** The provider's result when it was last used. */
const HEALTH = {
  unknown: "Not used since its credentials were written.",
  ok: "It takes messages.",
  failing: "It took none of the last messages; they are tried again.",
  refused: "It refuses our credentials or sender: write them again.",
} as const;
export type Health = keyof typeof HEALTH;

const CHANNELS = Object.keys(PROVIDERS).filter((channel) => channel !== "inbox") as [
  VendorChannel,
  ...VendorChannel[],
];
const KINDS = [...new Set(CHANNELS.flatMap((channel) => Object.keys(PROVIDERS[channel])))] as [string];

export const columns = {
  channel: createOnly(z.enum(CHANNELS).describe("The channel of its messages"), { concise: true }),
  kind: createOnly(z.enum(KINDS).describe("The vendor"), { concise: true }),
  name: writable(z.string().trim().min(1).max(200).describe("For the staff"), { concise: true }),
  from_address: writable(
    z
      .string()
      .trim()
      .min(1)
      .max(254)
      .nullable()
      .optional()
      .describe("The sender where the campaign names none"),
  ),
  credentials: writeOnly(
    z
      .record(z.string().max(100), z.unknown())
      .default({})
      .describe(
        "Never shown. ses: region, access_key_id, secret_access_key, configuration_set, topic_arn; sendgrid: api_key, webhook_public_key; resend: api_key, webhook_secret; smtp: url; twilio: account_sid, auth_token, messaging_service_sid; webpush: subject, a mailto: or https contact; voice: see docs://guides/voice",
      ),
  ),
  rate_per_second: writable(
    z
      .number()
      .positive()
      .max(10_000)
      .nullable()
      .optional()
      .describe("Messages a second at most. Default: no limit of ours"),
  ),
  daily_limit: writable(z.int().min(1).max(2_000_000_000).nullable().optional().describe("A day, by UTC")),
  max_concurrent: writable(z.int().min(1).max(10_000).nullable().optional().describe("Calls at once")),
  unit_price: writable(
    z
      .number()
      .min(0)
      .max(1_000_000)
      .nullable()
      .optional()
      .describe(
        "Of one message, segment of a text or minute of a call; null: unknown. Previews estimate by it",
      ),
  ),
  price_currency: writable(
    z
      .string()
      .regex(/^[A-Z]{3}$/, "must be an ISO 4217 code, such as USD")
      .nullable()
      .optional()
      .describe("Of unit_price, such as USD"),
    { vocabulary: true },
  ),
  allows_gaming: writable(
    z.boolean().default(false).describe("The vendor's contract allows gaming content; it sends only then"),
  ),
  is_default: writable(
    z.boolean().default(false).describe("One provider a channel; true replaces the current default"),
    { concise: true },
  ),
  is_active: writable(
    z.boolean().default(true).describe("false: it sends nothing, but still accepts callbacks"),
    { concise: true },
  ),
  priority: writable(z.int().min(0).max(1000).default(100).describe("The lowest goes first"), {
    concise: true,
  }),
  health: readable(z.enum(Object.keys(HEALTH) as [Health]), { concise: true }),
  last_error: readable(z.string().nullable(), { concise: true }),
  health_changed_at: readable(timestamp().nullable()),
  callback_path: readable(
    z.string().describe("Path for the vendor's callbacks, after the service's address"),
    { sql: callbackPath("kind", "id") },
  ),
};

/** A provider as it is stored. `revision` is the time of the last change by a person. */
export type ProviderRecord = StoredOf<typeof columns> & { revision: string };
