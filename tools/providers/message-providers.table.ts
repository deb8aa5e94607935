import { z } from "zod";
import { sql as fragment, literals } from "#db/sql.ts";
import { checkSettings } from "#runtime/channels/index.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { counted } from "#runtime/counted.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { refuseMasked } from "#runtime/masking/refuse-masked.ts";
import { PRIVATE_ALLOWED, refuseHost } from "#runtime/network/public-address.ts";
import { afterChange } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Change, type RowOf, table, type Values } from "#runtime/operation/table.ts";
import { quoted } from "#runtime/visible-text.ts";
import { LIVE_CAMPAIGNS } from "#tools/statuses/campaigns.ts";
import { refuseCarrying } from "#tools/templates/masked-content.ts";
import { isLiveVersion, refuseUsed } from "#tools/uses/refuse-used.ts";
import { countOpenCalls } from "#tools/voice-calls/call.ts";
import { columns } from "./columns.ts";
import { BUILT_IN } from "./prices.ts";

export default table({
  name: "message_providers",
  noun: "message_provider",
  key: ["name"],
  description:
    "A provider that sends the property's messages on a channel. Campaigns use the one they name, else the default, then the others by priority; another takes over when one is down. Its credentials are write-only. is_active false stops sending but still accepts callbacks; deleting it deletes its credentials.",
  softDelete: true,
  columns,
  asks: ["create", "update"],
  shapesMessages: ["create", "update", "delete"],
  beforeWrite,
});

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, input, current } = change;
  if (verb === "delete") return beforeDelete(context, current);
  const { name, channel, kind, unit_price, price_currency, is_active } = afterChange(columns, change);
  const changed = Object.keys(input).join(", ");
  context.ask?.({
    sentences: () => [
      `Messages by ${channel} may leave by the provider ${JSON.stringify(name)} (${kind}): this ${current ? `changes its ${changed}` : "makes it"}.`,
    ],
  });
  if (input.credentials !== undefined) {
    if (!BUILT_IN.has(kind)) refuseMasked(context.call, "the vendor's account gets the players' addresses");
    checkCredentials(context, channel, kind, input.credentials);
  }
  if (unit_price !== null && price_currency === null) {
    throw invalid("price_currency", "is missing: a unit_price needs a currency, such as USD");
  }
  if (typeof input.from_address === "string" && channel === "email") {
    checkSender(input.from_address);
    await refuseCarrying(context, { from_address: input.from_address });
  }
  if (input.is_default === true) {
    if (!is_active) throw invalid("is_default", "a provider that is not active cannot be the default");
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
  const field = host === undefined ? "credentials.url" : "credentials.host";
  if (refusal !== null) throw invalid(field, `${refusal} ${PRIVATE_ALLOWED}`);
}

function checkSender(address: string): void {
  if (!z.email().safeParse(address).success) throw invalid("from_address", "must be an email address");
}

/** A channel's default is the provider that was chosen last. */
async function takeDefault({ sql, property }: Context, channel: string, id: string | null): Promise<void> {
  await sql`
    update message_providers set is_default = false, updated_at = now()
    where property_id = ${property.id} and channel = ${channel} and is_default and id is distinct from ${id}`;
}

async function beforeDelete(context: Context, provider: RowOf<typeof columns>): Promise<Values> {
  const { id, channel, kind } = provider;
  await refuseUsed(context, { noun: "provider", id });
  if (!BUILT_IN.has(kind)) await refuseLast(context, provider);
  const open = channel === "voice" ? await countOpenCalls(context, id) : 0;
  if (open > 0) {
    throw new Fault("conflict", {
      message: `${counted(open, "of this provider's calls is", "of this provider's calls are")} under way, and what people say in a call is read by its credentials. Set is_active false now, and delete it when no call is under way.`,
    });
  }
  return { credentials: {}, is_default: false };
}

/**
 * Refuses to take a channel's only provider from messages that may still go: the built-in one would take them. Behind
 * `refuseUsed`, whose lock holds.
 */
async function refuseLast(
  { sql, property }: Context,
  { id, channel }: { id: string; channel: SendingChannel },
): Promise<void> {
  // The campaigns of a journey's messages never end: they may send while players can reach them.
  const [left] = await sql<{ kind: string; name: string; status: string }[]>`
    select case when j.id is null then 'campaign' else 'journey' end as kind, coalesce(j.name, c.name) as name,
      coalesce(j.status, c.status) as status
    from campaigns c
      left join journeys j on j.property_id = ${property.id} and j.id = c.journey_id
    where c.property_id = ${property.id} and c.channel = ${channel} and c.deleted_at is null
      and c.provider_id is null and c.status in (${literals(LIVE_CAMPAIGNS)})
      and (c.journey_id is null
        or exists (
          select from journey_nodes n
          where n.property_id = ${property.id} and n.journey_id = j.id and n.campaign_id = c.id
            and ${isLiveVersion(property.id, fragment`n.version`)}))
      and not exists (
        select from message_providers o
        where o.property_id = ${property.id} and o.channel = ${channel} and o.id <> ${id} and o.deleted_at is null)
    limit 1`;
  if (!left) return;
  throw new Fault("conflict", {
    message: `The ${left.kind} ${quoted(left.name)} is ${left.status} and has no other ${channel} provider, so its messages would reach nobody. Create another one first, or set is_active false to stop them.`,
  });
}
