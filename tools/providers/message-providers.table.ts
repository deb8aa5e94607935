import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/channel.ts";
import { checkSettings, PROVIDERS } from "#runtime/channels/index.ts";
import { createOnly, readable, timestamp, writable, writeOnly } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Row, table } from "#runtime/operation.ts";
import { refuseHost } from "#runtime/outgoing.ts";
import { callbackPath, type VendorChannel } from "./provider.ts";

/** How a provider did when it was last used. */
export const HEALTH = {
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

export default table({
  name: "message_providers",
  noun: "message_provider",
  key: ["name"],
  description:
    "A provider that sends the property's messages on a channel. Campaigns use the one they name, else the default, then the others by priority; another takes over when one is down. Its credentials are write-only. is_active false stops sending through it and still hears its callbacks; deleting it forgets its credentials.",
  softDelete: true,
  columns: {
    channel: createOnly(z.enum(CHANNELS)),
    kind: createOnly(z.enum(KINDS).describe("The vendor")),
    name: writable(z.string().trim().min(1).max(200)),
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
          "Never shown. ses: region, access_key_id, secret_access_key, configuration_set, topic_arn; sendgrid: api_key, webhook_public_key; resend: api_key, webhook_secret; smtp: url; twilio: account_sid, auth_token, messaging_service_sid; mailbox: none",
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
    daily_limit: writable(z.int().min(1).max(2_000_000_000).nullable().optional().describe("A day of UTC")),
    unit_price: writable(
      z
        .number()
        .min(0)
        .max(1_000_000)
        .nullable()
        .optional()
        .describe("What one message costs, of texts one segment; null: not known. Previews estimate by it"),
    ),
    price_currency: writable(
      z
        .string()
        .regex(/^[A-Z]{3}$/, "must be an ISO 4217 code, such as USD")
        .nullable()
        .optional()
        .describe("Of unit_price, such as USD"),
    ),
    allows_gaming: writable(
      z
        .boolean()
        .default(false)
        .describe("The vendor's contract allows gaming content; nothing is sent without"),
    ),
    is_default: writable(z.boolean().default(false).describe("One a channel; true takes it from another")),
    is_active: writable(
      z.boolean().default(true).describe("false: it sends nothing and still hears callbacks"),
    ),
    priority: writable(z.int().min(0).max(1000).default(100).describe("The lowest goes first")),
    health: readable(z.enum(Object.keys(HEALTH) as [Health])),
    last_error: readable(z.string().nullable()),
    health_changed_at: readable(timestamp().nullable()),
    callback_path: readable(
      z.string().describe("Where the vendor is to post its callbacks, after the service's address"),
      callbackPath("kind", "id"),
    ),
  },
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change): Promise<Record<string, unknown>> {
  const { verb, input, current } = change;
  if (verb === "delete") return beforeDelete(context, current!);
  const { channel, kind } = { ...current, ...input } as unknown as { channel: SendingChannel; kind: string };
  if (input.credentials !== undefined) checkCredentials(context, channel, kind, input.credentials);
  const { unit_price, price_currency } = { ...current, ...input };
  if ((unit_price ?? null) !== null && (price_currency ?? null) === null) {
    throw invalid("price_currency", "is missing: a price is in some currency");
  }
  if (typeof input.from_address === "string" && channel === "email") checkSender(input.from_address);
  const active = input.is_active ?? current?.is_active ?? true;
  if (input.is_default === true) {
    if (!active) throw invalid("is_default", "a provider that is not active cannot be the default");
    await takeDefault(context, channel, current?.id ?? null);
  }
  const fresh = input.credentials !== undefined && current !== null;
  return {
    ...input,
    ...(fresh && { health: "unknown", last_error: null, health_changed_at: "now" }),
    ...(input.is_active === false && { is_default: false }),
  };
}

function checkCredentials({ config }: Context, channel: SendingChannel, kind: string, given: unknown): void {
  try {
    checkSettings(channel, kind, given);
  } catch (error) {
    if (!(error instanceof Fault) || !error.details) throw error;
    const details = error.details.map(({ field, message }) => ({
      field: field === "provider" ? "kind" : `credentials.${field}`,
      message,
    }));
    throw new Fault("invalid", { message: error.message, details });
  }
  if (kind !== "smtp" || config.webhooksAllowPrivate) return;
  const { host, url } = given as { host?: string; url?: string };
  const name = host ?? URL.parse(url ?? "")?.hostname ?? "";
  const refusal = refuseHost(name);
  if (refusal !== null) throw invalid(host === undefined ? "credentials.url" : "credentials.host", refusal);
}

function checkSender(address: string): void {
  if (!z.email().safeParse(address).success) throw invalid("from_address", "must be an email address");
}

/** The default of a channel is the one that was named last. */
async function takeDefault({ sql, property }: Context, channel: string, id: string | null): Promise<void> {
  await sql`
    update message_providers set is_default = false, updated_at = now()
    where property_id = ${property.id} and channel = ${channel} and is_default and id is distinct from ${id}`;
}

async function beforeDelete({ sql, property }: Context, current: Row): Promise<Record<string, unknown>> {
  const [busy] = await sql<{ id: string; status: string }[]>`
    select id, status from campaigns
    where property_id = ${property.id} and provider_id = ${current.id} and deleted_at is null
      and status in ('scheduled', 'queued', 'sending', 'paused') limit 1`;
  if (busy) {
    throw new Fault("conflict", {
      message: `The campaign ${busy.id} is ${busy.status} and names this provider; change it first.`,
    });
  }
  return { credentials: {}, is_default: false };
}
