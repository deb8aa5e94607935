import { literals } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { toFault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import type { Context, Question, Reach, Tenant } from "#runtime/operation/context.ts";
import { hasOutgrown } from "#runtime/operation/property.ts";
import {
  approvalOf,
  changesSince,
  checkFingerprint,
  countsPeople,
  factsOf,
  type Lists,
  listFacts,
  type Prints,
} from "#tools/approvals/approval.ts";
import { type Campaign, changeStatus, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { countPlayers, hasAudience, referencesOf } from "#tools/campaigns/planning/audience.ts";
import { estimatedCost, volumeOf } from "#tools/campaigns/preflight/cost.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { campaignPrints } from "./prints.ts";

/** A confirmed operation counts the audience again, which is linear in it. */
export const CONFIRMED_DEADLINE_MS = 15_000;

/** The state that a call would have approved. */
export interface Present {
  prints: Prints;
  /** The hashes of the players on the audience's lists: prints have the rules of segments alone. Empty as `count`. */
  lists: Lists;
  /** Players of the audience as somebody is shown them; null where nobody is, and once the audience is planned. */
  count: number | null;
  /** Those that were shown with a fingerprint. */
  checked?: number | null;
}

/** The campaign's state as it is now. Throws `conflict` unless a `fingerprint` is that of this state. */
export async function presentState(
  context: Context,
  campaign: Campaign,
  fingerprint?: string,
): Promise<Present> {
  if (fingerprint === undefined && !countsPeople(context.call)) {
    return { prints: await campaignPrints(context, campaign), lists: {}, count: null };
  }
  const present = await shownState(context, campaign);
  if (fingerprint === undefined) return present;
  return { ...present, checked: checkFingerprint(context.property, campaign, present, fingerprint) };
}

/** The state with the parts that a person is shown. */
export async function shownState(context: Tenant, campaign: Campaign): Promise<Present> {
  const prints = await campaignPrints(context, campaign);
  if (campaign.started_at !== null || !hasAudience(campaign)) return { prints, lists: {}, count: null };
  const count = await countPlayers(context, campaign).catch(nullIfRefused);
  const referred = await referencesOf(context, campaign).catch(nullIfRefused);
  return { prints, lists: await listFacts(context, referred?.segments ?? []), count };
}

/** Sending refuses an audience whose rules name what is not there any more. */
function nullIfRefused(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}

/**
 * Asks a person about a state that reaches people. Answers it with the number that was shown, because the audience may
 * have grown since. A confirmed question and a fingerprint each have a number; the smaller one counts.
 */
export function askAbout(
  context: Context,
  campaign: Campaign,
  present: Present,
  { sentences, isWeighed = true }: Pick<Question, "sentences"> & { isWeighed?: boolean },
): Present {
  const { prints, lists, count, checked = null } = present;
  const shown =
    context.ask?.({
      state: canonicalHash({ id: campaign.id, prints, lists }).toString("hex"),
      facts: () => ({ ...factsOf(prints), ...lists }),
      sentences,
      audience: count,
      ...(isWeighed && { reach: reachOf(context, campaign, count) }),
    }) ?? null;
  const numbers = [shown, checked].filter((number) => number !== null);
  return { ...present, count: numbers.length > 0 ? Math.min(...numbers) : count };
}

/** The reach of sending a campaign to `audience` players, or once it has started to those whose messages wait. */
function reachOf(context: Context, campaign: Campaign, audience: number | null): Reach {
  const players = async () =>
    campaign.started_at === null ? audience : await countPending(context, campaign.id);
  return {
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
    where property_id = ${property.id} and campaign_id = ${campaignId} and status in (${literals(WAITING_SENDS)})`;
  return row!.count;
}

/** At most: players whom the gate blocks cost nothing. */
async function priceOf(context: Context, campaign: Campaign, messages: number): Promise<number | null> {
  const { rendered } = await checkReadiness(context, campaign);
  const { cost } = await estimatedCost(context, campaign, volumeOf(rendered, messages));
  return cost === null ? 0 : cost.amount;
}

/**
 * The columns by which a campaign keeps what this call approves. A program is shown a number, and approves it, only by a
 * fingerprint and where the property limits it: then the audience may not grow above the limit later.
 */
export function approving(context: Context, campaign: Campaign, { prints, count }: Present) {
  const { ignore_frequency_cap, is_transactional } = campaign;
  const flags = Object.entries({ ignore_frequency_cap, is_transactional }).flatMap(([flag, on]) =>
    on ? [flag] : [],
  );
  const { confirmation, review, transport } = context.call;
  const shown = confirmation || review || transport !== "mcp" ? count : null;
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

/** The same for one that is sending and not locked: the winner of its test, and the rest of a long delivery, come later. */
export async function holdSendingIfChanged(context: Context, campaign: Campaign): Promise<boolean> {
  if ((await unapproved(context, campaign)).length === 0) return false;
  const locked = await findCampaign(context, campaign.id, { lock: true });
  return locked.status === "sending" && holdIfChanged(context, locked);
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
  return [`the audience, which has grown from ${approved} to ${counted(count, "player")}`];
}

/** The hash of a campaign's message alone, with its templates and variants. */
export async function contentHash(context: Tenant, campaign: Campaign): Promise<string> {
  const { content, variants } = await campaignPrints(context, campaign);
  return canonicalHash({ content, variants }).toString("hex");
}
