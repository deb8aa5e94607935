import type { SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";
import { ADDRESSES } from "#tools/campaigns/addresses.ts";
import { cancelOpenSends } from "#tools/compliance/open-sends.ts";
import { record } from "./ledger.ts";
import { revokedWith } from "./revoke.ts";

/**
 * Takes over the STOPs that a vendor keeps and has refused messages for: everyone who has one of these addresses
 * is as if we had received it ourselves.
 */
export async function takeOverOptOuts(
  context: Context,
  channel: SendingChannel,
  outcomes: readonly SendOutcome[],
): Promise<void> {
  const sends = outcomes.filter((outcome) => outcome.status === "failed" && outcome.optedOut);
  // The inbox is our own.
  if (sends.length === 0 || channel === "inbox") return;
  const { sql, property, emit } = context;
  const channels = revokedWith(context, channel);
  const ids = sends.map(({ id }) => id);
  const { address, hash } = ADDRESSES[channel];
  const players = await sql<{ id: string }[]>`
    select distinct p.id from campaign_sends s
    join players p on p.property_id = ${property.id} and ${sql.unsafe(hash)} = s.address_hash
    where s.property_id = ${property.id} and s.id = any(${ids}::uuid[]) order by p.id`;
  const playerIds = players.map(({ id }) => id);
  const method = "stop_keyword";
  const rows = await record(context, { playerIds, channels, action: "revoked", source: "provider", method });
  await sql`
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, campaign_id, player_id)
    select ${property.id}, uuid_v7(), w.revoked, s.address, s.address_hash, 'stop_keyword', 'provider', s.campaign_id,
      s.player_id
    from (
      select distinct on (s.address_hash) s.address_hash, s.campaign_id, s.player_id, ${sql.unsafe(address)} as address
      from campaign_sends s left join players p on p.property_id = ${property.id} and p.id = s.player_id
      where s.property_id = ${property.id} and s.id = any(${ids}::uuid[]) and s.address_hash is not null) s,
      jsonb_array_elements_text(${channels as never}::jsonb) as w(revoked)
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = now()`;
  await cancelOpenSends(sql, property, playerIds, channels, "suppressed");
  for (const { id, player_id, channel: revoked, action, occurred_at } of rows) {
    emit("consent.revoked", { id, player_id, channel: revoked, action, method, occurred_at });
  }
}
