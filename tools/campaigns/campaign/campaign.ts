import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { Fault, one } from "#runtime/faults.ts";
import { forEvents, storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { StoredOf } from "#runtime/operation/table.ts";
import { columns } from "./columns.ts";

/** A campaign as it is stored. */
export type Campaign = StoredOf<typeof columns>;

/** A campaign as operations answer it. */
export const CampaignView = viewOf({ columns });

/** The campaign; `lock` locks it to the end of the transaction. `deletedToo`: for its figures. Throws `not_found`. */
export async function findCampaign(
  { sql, property }: Tenant,
  id: string,
  options: { lock?: boolean; deletedToo?: boolean } = {},
): Promise<Campaign> {
  const campaigns = await sql<Campaign[]>`
    select ${storedNames(columns)}
    from campaigns
    where property_id = ${property.id} and id = ${id}
    ${options.deletedToo ? sql`` : sql`and deleted_at is null`} ${options.lock ? sql`for no key update` : sql``}`;
  return one(campaigns, "campaign", id);
}

/** Answers null for a deleted campaign: its jobs have nothing left to do. Throws any other error. */
export function nullIfDeleted(error: unknown): null {
  if (error instanceof Fault && error.code === "not_found") return null;
  throw error;
}

/** The fields of a campaign that its events carry: all but the bodies. */
export function eventFields(record: Record<string, unknown>): Record<string, unknown> {
  return forEvents(columns, record);
}

/** The channel that carries messages of a campaign's channel. The API calls the inbox loyaltyvip too. */
export function sendingChannel({ channel }: Pick<Campaign, "channel">): SendingChannel {
  return channel === "loyaltyvip" ? "inbox" : channel;
}
