import type { SendingChannel } from "#runtime/channels/channel.ts";
import { PROVIDERS } from "#runtime/channels/index.ts";
import { type FaultDetail, invalid } from "#runtime/faults.ts";
import type { Campaign } from "./campaign.ts";

/** A player's columns that a channel writes to, and the address as it may be shown. */
export const ADDRESSES: Record<SendingChannel, { address: string; hash: string; masked: string }> = {
  email: {
    address: "email",
    hash: "email_hash",
    // The same form as `maskAddress`, without a regular expression: it is made for every recipient.
    masked: `left(address, 1) || '***@' || left(split_part(address, '@', 2), 1) || '***'
      || right(address, position('.' in reverse(address)))`,
  },
  sms: {
    address: "phone",
    hash: "phone_hash",
    masked: "left(address, 2) || '•••••' || right(address, 4)",
  },
};

export function isSendingChannel(channel: string): channel is SendingChannel {
  return Object.hasOwn(PROVIDERS, channel);
}

/** Why a campaign of this channel cannot be sent. */
export function unsendable(channel: string): FaultDetail {
  const channels = Object.keys(PROVIDERS).join(" and ");
  return { field: "channel", message: `is ${channel}, and campaigns can be sent by ${channels}` };
}

/** The channel that the campaign's messages go out by; `invalid` where there is no way to send them yet. */
export function sendingChannel({ channel }: Pick<Campaign, "channel">): SendingChannel {
  if (isSendingChannel(channel)) return channel;
  const { field, message } = unsendable(channel);
  throw invalid(field, message);
}
