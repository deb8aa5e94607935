import { z } from "zod";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { BUILT_IN, PRICED_UNITS, priceUnit, roundedCost } from "#tools/providers/prices.ts";
import type { CallStats } from "#tools/voice-calls/figures.ts";

export const CostSoFar = z
  .object({
    amount: z
      .number()
      .nullable()
      .describe(
        "By the providers' unit_price of now; calls as told. null: no price is known, or there are several currencies",
      ),
    currency: z.string().nullable(),
    unit: z.enum(PRICED_UNITS),
    units: z.int().describe("Of the messages that providers have accepted, or of answered calls"),
    unpriced_units: z
      .int()
      .describe("Of units, those that amount leaves out: their provider has no unit_price"),
  })
  .describe("Cost of the messages so far. null for a large campaign's earlier count");
export type CostSoFar = z.output<typeof CostSoFar>;

/** Sends by their provider: those that it accepted, and the segments of these. */
export interface Accepted {
  provider: string | null;
  provider_id: string | null;
  accepted: number;
  segments: number;
}

/** The cost of the accepted messages. A call's cost is its own: vendors tell it, or its minutes give it. */
export async function costSoFar(
  tenant: Tenant,
  channel: SendingChannel,
  { groups, calls }: { groups: readonly Accepted[]; calls: CallStats | null },
): Promise<CostSoFar> {
  const unit = priceUnit(channel);
  if (calls) {
    const { minutes, unpriced_minutes, cost, cost_currency } = calls;
    const isKnown = cost !== null && cost_currency !== null;
    return {
      amount: isKnown ? roundedCost(cost) : minutes === 0 ? 0 : null,
      currency: cost_currency,
      unit,
      units: minutes,
      unpriced_units: unpriced_minutes,
    };
  }
  const bought = groups.filter(({ accepted }) => accepted > 0);
  const prices = await pricesOf(tenant, bought);
  const priced = bought.map((group) => {
    const isFree = group.provider_id === null && BUILT_IN.has(group.provider ?? "");
    const price = isFree ? FREE : prices.get(group.provider_id ?? "");
    return { units: unit === "segment" ? group.segments : group.accepted, price };
  });
  const known = priced.flatMap(({ units, price }) => (price ? [{ units, ...price }] : []));
  const currencies = new Set(known.flatMap(({ currency }) => currency ?? []));
  const units = sum(priced.map((one) => one.units));
  const unpriced_units = units - sum(known.map((one) => one.units));
  const isKnown = currencies.size < 2 && (unpriced_units < units || units === 0);
  return {
    amount: isKnown ? roundedCost(sum(known.map((one) => one.units * one.amount))) : null,
    currency: currencies.size === 1 ? [...currencies][0]! : null,
    unit,
    units,
    unpriced_units,
  };
}

interface Price {
  amount: number;
  currency: string | null;
}

const FREE: Price = { amount: 0, currency: null };

async function pricesOf(
  { sql, property }: Tenant,
  groups: readonly Accepted[],
): Promise<ReadonlyMap<string, Price>> {
  const ids = [...new Set(groups.flatMap(({ provider_id }) => provider_id ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await sql<(Price & { id: string })[]>`
    select id, unit_price as amount, price_currency as currency from message_providers
    where property_id = ${property.id} and id = any(${ids}::uuid[]) and unit_price is not null`;
  return new Map(rows.map(({ id, ...price }) => [id, price]));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
