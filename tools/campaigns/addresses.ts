import type { SendingChannel } from "#runtime/channels/channel.ts";
import { PROVIDERS } from "#runtime/channels/index.ts";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Campaign } from "./campaign.ts";

interface Address {
  /** Over `players p`. */
  address: string;
  hash: string;
  /** Over `address`, as it may be shown. */
  masked: string;
}

/** Where a channel writes to, in SQL. */
export const ADDRESSES: Record<SendingChannel, Address> = {
  email: {
    address: "p.email",
    hash: "p.email_hash",
    // The same form as `maskAddress`, without a regular expression: it is made for every recipient.
    masked: `left(address, 1) || '***@' || left(split_part(address, '@', 2), 1) || '***'
      || right(address, position('.' in reverse(address)))`,
  },
  sms: {
    address: "p.phone",
    hash: "p.phone_hash",
    masked: "left(address, 2) || '•••••' || right(address, 4)",
  },
  inbox: { address: "p.id::text", hash: "sha256(uuid_send(p.id))", masked: "null" },
};

/** The channel that messages of a campaign's channel go out by; null where there is no way to send them yet. */
export function sendingChannelOf(channel: Campaign["channel"]): SendingChannel | null {
  // The inbox's name on the wire.
  const name = channel === "loyaltyvip" ? "inbox" : channel;
  return Object.hasOwn(PROVIDERS, name) ? (name as SendingChannel) : null;
}

/** Why a campaign of this channel cannot be sent. */
export function unsendable(channel: string): FaultDetail {
  const channels = Object.keys(PROVIDERS).join(" and ");
  return { field: "channel", message: `is ${channel}, and campaigns can be sent by ${channels}` };
}

/** As `sendingChannelOf`; `invalid` where there is none. */
export function sendingChannel({ channel }: Pick<Campaign, "channel">): SendingChannel {
  const sending = sendingChannelOf(channel);
  if (sending) return sending;
  const { field, message } = unsendable(channel);
  throw invalid(field, message);
}
