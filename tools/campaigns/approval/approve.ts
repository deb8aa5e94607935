import { toFault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import { type Context, countsPeople, type Question } from "#runtime/operation/context.ts";
import { hasOutgrown } from "#runtime/operation/property.ts";
import { approvalOf, changesSince, factsOf, type Prints } from "#tools/approvals/approval.ts";
import { listFacts } from "#tools/approvals/segment-facts.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { countPlayers, hasAudience, referencesOf } from "#tools/campaigns/planning/audience.ts";
import { reachOf } from "./reach.ts";
import { campaignPrints } from "./state.ts";

/** A confirmed operation counts the audience again, which is linear in it. */
export const CONFIRMED_DEADLINE_MS = 15_000;

/** The state that a call would have approved. */
export interface Present {
  prints: Prints;
  /** Players of the audience; null where no agent asks, and once the audience is planned. */
  count: number | null;
}

/** The campaign's state as it is now. */
export async function presentState(context: Context, campaign: Campaign): Promise<Present> {
  const prints = await campaignPrints(context, campaign);
  const isCounted = countsPeople(context.call) && campaign.started_at === null && hasAudience(campaign);
  return { prints, count: isCounted ? await countPlayers(context, campaign).catch(nullIfRefused) : null };
}

/** Sending refuses an audience whose rules name what is not there any more. */
function nullIfRefused(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}

/** The subject of a confirmation of this state. */
export function stateOf({ id }: Pick<Campaign, "id">, present: Present): string {
  return canonicalHash({ id, ...present }).toString("hex");
}

/** The question about a state that reaches people, to whom the words are told. */
export function questionOf(
  context: Context,
  campaign: Campaign,
  present: Present,
  sentences: Question["sentences"],
): Question {
  return {
    state: stateOf(campaign, present),
    facts: async () => ({ ...factsOf(present.prints), ...(await listsOf(context, campaign)) }),
    sentences,
    reach: reachOf(context, campaign, present.count),
  };
}

/** Prints have the rules of segments alone. */
async function listsOf(context: Context, campaign: Campaign): Promise<Record<string, string>> {
  if (campaign.started_at !== null) return {};
  const { segments } = await referencesOf(context, campaign).catch(nothingIfRefused);
  return listFacts(context, segments);
}

function nothingIfRefused(error: unknown) {
  nullIfRefused(error);
  return { segments: [] };
}

/**
 * The columns by which a campaign keeps what this call approves. A program is shown no number, and approves none, unless
 * the property limits it: then its audience may not grow above the limit later.
 */
export function approving(context: Context, campaign: Campaign, { prints, count }: Present) {
  const { ignore_frequency_cap, is_transactional } = campaign;
  const flags = Object.entries({ ignore_frequency_cap, is_transactional }).flatMap(([flag, on]) =>
    on ? [flag] : [],
  );
  const { confirmation, review } = context.call;
  const shown = confirmation || review ? count : null;
  return { approved: approvalOf(context, prints, { flags, count: shown }), approved_state: prints };
}

/** In words, how the campaign differs from what was approved: nothing may be sent then. */
export async function unapproved(context: Context, campaign: Campaign): Promise<string[]> {
  // A journey's publishing was approved, and its messages never change.
  if (campaign.journey_id) return [];
  const { time: _, ...prints } = await campaignPrints(context, campaign);
  // Not the time: it has come, and schedule_campaign alone writes it, which asks.
  const changes = changesSince(campaign.approved_state, prints);
  const approved = campaign.approved?.count ?? null;
  if (changes.length > 0 || approved === null || campaign.started_at !== null) return changes;
  const count = await countPlayers(context, campaign);
  if (!hasOutgrown(context.property, approved, count)) return [];
  return [`the audience, which has grown from ${approved} to ${count} players`];
}
