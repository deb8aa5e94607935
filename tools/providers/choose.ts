import type { ChosenProvider } from "#runtime/channels/index.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Config } from "#runtime/config.ts";
import type { FaultDetail } from "#runtime/faults.ts";
import { storedNames } from "#runtime/operation/columns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { bareOrQuoted } from "#runtime/visible-text.ts";
import { pushKeys } from "#tools/push-subscriptions/keys.ts";
import { columns, type ProviderRecord } from "./columns.ts";
import { openCredentials } from "./provider.ts";

/** A provider that a delivery may use. */
export interface Candidate extends ChosenProvider {
  fromAddress: string | null;
  limits: { perSecond: number | null; perDay: number | null } | null;
  /** Calls at once. */
  maxConcurrent: number | null;
  health: string;
  /** The revision of the record: each change by a person makes a new one. */
  revision: string | null;
}

/** The operator's own provider of a channel, for the platform and for properties without a provider. */
export function configuredProvider(config: Config, channel: SendingChannel): Candidate {
  const { provider, smtpUrl, from } = config.email;
  const own = {
    id: null,
    trusted: true,
    fromAddress: null,
    limits: null,
    maxConcurrent: null,
    health: "unknown",
    revision: null,
  };
  if (channel === "email" && provider === "smtp") {
    return { ...own, name: "smtp", settings: { url: smtpUrl, ...(from && { from }) } };
  }
  return { ...own, name: channel === "voice" ? "simulator" : "mailbox", settings: {} };
}

/** The property's own providers for a message in the order of use, or the reason why there is none. */
export async function ownProviders(
  { sql, property }: Tenant,
  channel: SendingChannel,
  named: string | null,
): Promise<{ providers: ProviderRecord[]; problems: FaultDetail[] }> {
  // A provider that refused us comes last: each further refusal makes a lock-out more likely.
  const found = await sql<ProviderRecord[]>`
    select ${storedNames(columns)}, updated_at::text as revision
    from message_providers
    where property_id = ${property.id} and deleted_at is null and channel = ${channel}
      ${named === null ? sql`` : sql`and id = ${named}`}
    order by health = 'refused', is_default desc, priority, id`;
  if (named !== null && !found[0]?.is_active) {
    const what = found[0] ? "is not active" : "has been deleted, or is for another channel";
    return { providers: [], problems: [{ field: "provider_id", message: `provider ${named} ${what}` }] };
  }
  const active = found.filter(({ is_active }) => is_active);
  const providers = active.filter(({ allows_gaming }) => allows_gaming);
  if (found.length === 0 || providers.length > 0) return { providers, problems: [] };
  const names = (active.length > 0 ? active : found).map(({ name }) => bareOrQuoted(name)).join(", ");
  if (active.length === 0) {
    const message = `${names} is not active; activate it with update_message_provider, or add another with create_message_provider`;
    return { providers: [], problems: [{ field: "provider_id", message }] };
  }
  const message = `${names} does not allow gaming content; where the vendor's contract does, set allows_gaming with update_message_provider`;
  return { providers: [], problems: [{ field: "provider_id", message }] };
}

/**
 * The property's provider that carries a campaign's messages while none fails, and the sender that it gives them. Null
 * without one: the operator's own is set for each process, and the command line may have none. Without its id: a
 * provider that an agent only tries to make has another one each time.
 */
export async function carrierOf(
  { sql, property }: Tenant,
  channel: SendingChannel,
  named: string | null,
): Promise<{ name: string; kind: string; from_address: string | null } | null> {
  const found = await sql<{ name: string; kind: string; from_address: string | null; sends: boolean }[]>`
    select name, kind, from_address, is_active and allows_gaming as sends from message_providers
    where property_id = ${property.id} and deleted_at is null and channel = ${channel}
      ${named === null ? sql`` : sql`and id = ${named}`}
    order by is_default desc, priority, id`;
  return found.find(({ sends }) => sends) ?? null;
}

/**
 * The providers of a delivery in the order of their use. A campaign that names its provider uses no other; a
 * property with providers of its own never falls back on the operator's.
 */
export async function chooseProviders(
  context: Tenant & Pick<Context, "config">,
  channel: SendingChannel,
  named: string | null,
): Promise<Candidate[]> {
  const { providers, problems } = await ownProviders(context, channel, named);
  if (providers.length === 0) return problems.length > 0 ? [] : [configuredProvider(context.config, channel)];
  const keys = channel === "push" ? await pushKeys(context) : [];
  return providers.map((one) => ({
    id: one.id,
    name: one.kind,
    settings: openCredentials(context.config, context.property.id, one),
    trusted: false,
    ...callbackOf(context.config, one),
    ...(keys.length > 0 && { pushKeys: keys }),
    fromAddress: one.from_address,
    limits:
      one.rate_per_second === null && one.daily_limit === null
        ? null
        : { perSecond: one.rate_per_second, perDay: one.daily_limit },
    maxConcurrent: one.max_concurrent,
    health: one.health,
    revision: one.revision,
  }));
}

/** Whether a provider is unchanged since it was chosen: active, with the same settings and limits. */
export async function stands(
  { sql, property }: Tenant,
  { id, revision }: Pick<Candidate, "id" | "revision">,
): Promise<boolean> {
  if (id === null) return true;
  const [same] = await sql`
    select from message_providers
    where property_id = ${property.id} and id = ${id} and is_active and deleted_at is null
      and updated_at = ${revision}::text::timestamptz`;
  return same !== undefined;
}

/** Vendors send callbacks only over the public internet. */
function callbackOf({ baseUrl }: Config, { kind, id }: ProviderRecord): { callbackUrl?: string } {
  return baseUrl.startsWith("https:") ? { callbackUrl: `${baseUrl}/api/callbacks/${kind}/${id}` } : {};
}
