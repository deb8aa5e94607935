import type { SendingChannel } from "#runtime/channels/provider/channel.ts";

/** The units that providers have a price for. */
export const PRICED_UNITS = ["message", "segment", "minute"] as const;
type PricedUnit = (typeof PRICED_UNITS)[number];

const UNITS: Partial<Record<SendingChannel, PricedUnit>> = { sms: "segment", voice: "minute" };

/** The unit of a channel's prices. */
export function priceUnit(channel: SendingChannel): PricedUnit {
  return UNITS[channel] ?? "message";
}

/** The built-in providers: they reach nobody, and cost nothing. */
export const BUILT_IN: ReadonlySet<string> = new Set(["mailbox", "simulator"]);

// A text costs fractions of a cent.
const PLACES = 10_000;

export function roundedCost(amount: number): number {
  return Math.round(amount * PLACES) / PLACES;
}
