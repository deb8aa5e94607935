import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { BUILT_IN, PRICED_UNITS, priceUnit, roundedCost } from "#tools/providers/prices.ts";
import type { RenderedMessage } from "./readiness.ts";
import { type Sample, sampleOf } from "./sample.ts";

export const Cost = z.object({
  amount: z.number().nullable().describe("null: unknown"),
  currency: z.string().nullable().describe("null if sending is free or the price is unknown"),
  channel: z.string(),
  unit: z.enum(PRICED_UNITS).describe("The unit that has a price"),
  units: z.int().nullable().describe("null: not all could be counted"),
  unit_price: z.number().nullable().describe("Of the provider that is tried first; null: unknown"),
});
export type Cost = z.output<typeof Cost>;

/** Messages that would go out, their segments or minutes; null where not all were counted. */
export interface Volume {
  messages: number | null;
  segments: number | null;
  minutes: number | null;
}

/** The cost of sending by the provider that is tried first, if its price is known. Null: nothing is sent. */
export async function estimatedCost(
  context: Context,
  campaign: Campaign,
  { messages, segments, minutes }: Volume,
): Promise<{ cost: Cost | null; warnings: string[] }> {
  const channel = sendingChannel(campaign);
  const { providers, problems } = await ownProviders(context, channel, campaign.provider_id);
  const first = providers[0] ?? (problems.length > 0 ? null : configured(context, channel));
  const unit = priceUnit(channel);
  const counted = { message: messages, segment: segments, minute: minutes }[unit];
  const units = messages === null ? null : messages === 0 ? 0 : counted;
  const price = first?.unit_price ?? null;
  const amount = price === null || units === null ? null : roundedCost(units * price);
  const currency = price === null ? null : (first?.price_currency ?? null);
  return {
    cost: { amount, currency, channel: campaign.channel, unit, units, unit_price: price },
    warnings: first && price === null ? [unknownPrice(first.name, unit)] : [],
  };
}

/** The operator's own provider. The mailbox and the simulator cost nothing. */
function configured({ config }: Context, channel: SendingChannel) {
  const { name } = configuredProvider(config, channel);
  return { name, unit_price: BUILT_IN.has(name) ? 0 : null, price_currency: null };
}

function unknownPrice(name: string, unit: Cost["unit"]): string {
  return `the cost is not known: no record says the price of a ${unit} by ${name}; set unit_price of a message provider`;
}

/** A number of messages in the units of all channels, estimated from those that were rendered. */
export function volumeOf(rendered: readonly RenderedMessage[], messages: number): Volume {
  const samples = rendered.map(sampleOf);
  return { messages, segments: allSegments(samples, messages), minutes: allMinutes(samples, messages) };
}

/** The minutes of all calls if each is heard to its end, estimated from the samples. A begun minute is paid. */
function allMinutes(samples: readonly Sample[], messages: number): number | null {
  const minutes = samples.flatMap(({ seconds }) => (seconds === null ? [] : Math.ceil(seconds / 60)));
  if (minutes.length === 0) return null;
  return Math.ceil((minutes.reduce((sum, one) => sum + one, 0) / minutes.length) * messages);
}

/** The segments of all texts, estimated from the samples; null where no sample is a text. */
function allSegments(samples: readonly Sample[], messages: number): number | null {
  const counts = samples.flatMap(({ segments }) => segments ?? []);
  if (counts.length === 0) return null;
  return Math.ceil((counts.reduce((sum, count) => sum + count, 0) / counts.length) * messages);
}
