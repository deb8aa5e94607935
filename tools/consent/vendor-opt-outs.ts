import type { SendingChannel, SendOutcome } from "#runtime/channels/channel.ts";
import type { Context } from "#runtime/operation.ts";
import { revoke, revokedWith } from "./revoke.ts";

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
  const { sql, property } = context;
  const addresses = await sql<{ hash: Buffer; address: null }[]>`
    select distinct s.address_hash as hash, null as address
    from json_to_recordset(${sends.map(({ id }) => ({ id })) as never}::json) as o(id uuid)
    join campaign_sends s on s.property_id = ${property.id} and s.id = o.id
    where s.address_hash is not null`;
  await revoke(context, {
    many: { addresses: [...addresses], playerIds: [] },
    channels: revokedWith(context, channel),
    method: "stop_keyword",
    source: "provider",
  });
}
