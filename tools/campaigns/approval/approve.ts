import { toFault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import {
  type Context,
  countsPeople,
  type Question,
  type Reach,
  type Tenant,
} from "#runtime/operation/context.ts";
import { hasOutgrown } from "#runtime/operation/property.ts";
import { approvalOf, changesSince, factsOf, type Prints } from "#tools/approvals/approval.ts";
import { listFacts } from "#tools/approvals/segment-facts.ts";
import { type Campaign, changeStatus } from "#tools/campaigns/campaign/campaign.ts";
import { countPlayers, hasAudience, referencesOf } from "#tools/campaigns/planning/audience.ts";
import { estimatedCost, volumeOf } from "#tools/campaigns/preflight/cost.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
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

/** The reach of sending a campaign to `audience` players, or once it has started to those whose messages wait. */
function reachOf(context: Context, campaign: Campaign, audience: number | null): Reach {
  const players = async () =>
    campaign.started_at === null ? audience : await countPending(context, campaign.id);
  return {
    audience,
    players,
    cost: async () => {
      const messages = await players();
      return messages === null ? null : priceOf(context, campaign, messages);
    },
  };
}

/** Messages that are planned and not sent. */
export async function countPending({ sql, property }: Tenant, campaignId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from campaign_sends
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in ('pending', 'deferred')`;
  return row!.count;
}

/** At most: players whom the gate blocks cost nothing. */
async function priceOf(context: Context, campaign: Campaign, messages: number): Promise<number | null> {
  const { rendered } = await checkReadiness(context, campaign);
  const { cost } = await estimatedCost(context, campaign, volumeOf(rendered, messages));
  return cost === null ? 0 : cost.amount;
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

const MOST_CHARACTERS = 1000;

/** Pauses a locked campaign that is not what was approved. Answers whether it did. */
export async function holdIfChanged(context: Context, campaign: Campaign): Promise<boolean> {
  const changes = await unapproved(context, campaign);
  if (changes.length === 0) return false;
  const status_reason = `changed since it was approved: ${changes.join(", ")}`.slice(0, MOST_CHARACTERS);
  await changeStatus(context, campaign.id, "hold", { status_reason });
  return true;
}

/** In words, how the campaign differs from what was approved: nothing may be sent then. */
async function unapproved(context: Context, campaign: Campaign): Promise<string[]> {
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
