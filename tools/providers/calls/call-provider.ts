import { type BoundCallbacks, callbacksOf } from "#runtime/channels/index.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import type { ProviderRecord } from "../columns.ts";
import { openCredentials } from "../provider.ts";

export type CallProvider = Pick<ProviderRecord, "id" | "channel" | "kind" | "credentials">;

/** The provider of a call. Finds deleted providers too: their calls were made. */
export async function callProviderOf(
  { sql, property }: Context,
  { provider_id }: { provider_id: string | null },
): Promise<CallProvider | undefined> {
  const [provider] = await sql<CallProvider[]>`
    select id, channel, kind, credentials from message_providers
    where property_id = ${property.id} and id = ${provider_id}::uuid`;
  return provider;
}

/** The ways to ask a call's vendor. Throws where the credentials cannot be read. */
export function callbacksOfCalls(
  { config, propertyId }: JobContext,
  provider: CallProvider,
): BoundCallbacks | null {
  const settings = openCredentials(config, propertyId!, provider);
  return callbacksOf(provider.channel, provider.kind, settings);
}
