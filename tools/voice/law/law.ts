import type { Tenant } from "#runtime/operation/context.ts";

/** The numbers of the law, each with its meaning. */
export const VOICE_LAWS = {
  opt_out_within_seconds: "The way to opt out is said so soon after the identification",
  least_ring_seconds: "An unanswered call rings so long at least",
  most_abandoned_percent: "More abandoned calls than this share of the answered ones pause a campaign",
  abandoned_over_days: "That share is measured over so many days",
  hours_between_calls: "No number is called twice within so many hours",
  most_call_seconds: "No call takes longer",
  ai_disclosure: "1: the identification says that the voice is an AI's. 0: only that the call is automated",
} as const;
export type VoiceLawKind = keyof typeof VOICE_LAWS;
export type VoiceLaws = Record<VoiceLawKind, number>;

/** The property's numbers. */
export async function voiceLaws({ sql, property }: Tenant): Promise<VoiceLaws> {
  const rows = await sql<{ kind: VoiceLawKind; amount: number }[]>`
    select kind, amount from voice_laws where property_id = ${property.id}`;
  const laws = Object.fromEntries(rows.map(({ kind, amount }) => [kind, amount]));
  const missing = Object.keys(VOICE_LAWS).find((kind) => laws[kind] === undefined);
  if (missing) throw new Error(`the property has no law of calls of the kind ${missing}`);
  return laws as VoiceLaws;
}

/**
 * Seconds from the claim of a call to its end at the latest: it rings, and takes its longest time. `rings`: as long as
 * its vendor lets it ring, also where the law asks for less.
 */
export function longestCall({ least_ring_seconds, most_call_seconds }: VoiceLaws, rings = 0): number {
  return Math.max(least_ring_seconds, rings) + most_call_seconds;
}
