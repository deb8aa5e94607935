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
import {
  type Approvable,
  approvalOf,
  changesSince,
  factsOf,
  type Prints,
  printsOf,
} from "#tools/approvals/approval.ts";
import { listFacts } from "#tools/approvals/segment-facts.ts";
import {
  type Campaign,
  changeStatus,
  sendingChannel,
  templatesOf,
} from "#tools/campaigns/campaign/campaign.ts";
import { propertyVariables } from "#tools/campaigns/content/content.ts";
import { countPlayers, hasAudience, referencesOf } from "#tools/campaigns/planning/audience.ts";
import { estimatedCost, volumeOf } from "#tools/campaigns/preflight/cost.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
import { carrierOf } from "#tools/providers/choose.ts";
import { themeOf } from "#tools/themes/theme.ts";

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
export async function listsOf(context: Context, campaign: Campaign): Promise<Record<string, string>> {
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
 * The columns by which a campaign keeps what this call approves. A program is shown a number, and approves it, only where
 * the property limits it: then the audience may not grow above the limit later.
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

type Fields = Approvable["content"];

/** The columns that are approved, by their part, each in words. */
export const APPROVED_COLUMNS = {
  content: {
    subject: "the subject",
    preheader: "the preheader",
    from_name: "the sender's name",
    from_email: "the sender's address",
    reply_to: "the address of replies",
    body_html: "the HTML",
    body_mjml: "the MJML",
    body_text: "the text",
    template_id: "the template",
    utm: "the parameters of its links",
    inbox: "the offer and the button in the inbox",
    game_ticket: "the ticket for a game",
    voice_script: "the script of the call",
  },
  audience: {
    segment_id: "the segment",
    exclude_segment_ids: "the segments that are left out",
    audience: "the audience",
    conditions: "the audience's conditions",
    logic: "how the conditions join",
  },
  channel: { channel: "the channel" },
  time: { scheduled_at: "the time", send_in_player_timezone: "whose clock it goes by" },
  flags: {
    ignore_frequency_cap: "whether frequency rules hold",
    is_transactional: "whether it is transactional",
    tags: "the tags, by which frequency rules count",
    holdout_percent: "the share that gets nothing",
  },
  provider: { provider_id: "the provider" },
  variants: { ab_test: "the test of variants", goal: "the goal" },
} as const satisfies Record<keyof Approvable, Partial<Record<keyof Campaign, string>>>;

/** A key of the prints: that of a segment in the audience, or of a template in the content. */
export const segmentKey = (id: string) => `segment ${id}`;
export const templateKey = (id: string) => `template ${id}`;

/** The prints of all that a campaign sends. Once it has started its audience is fixed, and is left out. */
export async function campaignPrints(context: Tenant, campaign: Campaign): Promise<Prints> {
  const part = (name: keyof Approvable): Fields => columnsOf(campaign, APPROVED_COLUMNS[name]);
  const carrier = await carrierOf(context, sendingChannel(campaign), campaign.provider_id);
  const house = await houseFields(context, campaign, carrier);
  const { audience, ...prints } = printsOf({
    content: { ...part("content"), ...house, ...(await templateFields(context, campaign)) },
    audience: { ...part("audience"), ...(await segmentFields(context, campaign)) },
    channel: part("channel"),
    time: part("time"),
    flags: { ...part("flags"), clock: clockField(context, campaign) },
    provider: { ...part("provider"), carrier: { words: CARRIER, value: carrier } },
    variants: part("variants"),
  });
  return campaign.started_at === null ? { ...prints, audience: audience! } : prints;
}

function columnsOf(campaign: Campaign, columns: Partial<Record<keyof Campaign, string>>): Fields {
  return Object.fromEntries(
    Object.entries(columns).map(([name, words]) => [
      name,
      { words, value: campaign[name as keyof Campaign] },
    ]),
  );
}

/** The players' hour is that of the property's clock. No other call than `schedule_campaign` writes the time itself. */
function clockField({ property }: Tenant, campaign: Campaign): Fields[string] {
  return {
    words: "the property's clock, by which its hour goes",
    value: campaign.send_in_player_timezone ? property.timezone : null,
  };
}

/** A change of the property's providers, in words: another default may reach people where the approved one reached nobody. */
export const CARRIER = "the provider that carries it";

/** The parts that come from the property's settings: people get the message with them. */
async function houseFields(
  { sql, property }: Tenant,
  campaign: Campaign,
  carrier: { from_address: string | null } | null,
): Promise<Fields> {
  const channel = sendingChannel(campaign);
  const [optOut] =
    channel === "sms" ? await sql`select sms_opt_out_text from properties where id = ${property.id}` : [];
  const value = { ...propertyVariables(property), ...optOut };
  const footer = { words: "the property's names and footer", value };
  if (channel !== "email") return { footer };
  const { name, logo, typeface, language, light, dark } = await themeOf({ sql, property });
  const sender = {
    email: campaign.from_email || carrier?.from_address ? null : property.from_email,
    name: campaign.from_name ? null : (property.from_name ?? property.name),
  };
  const look = { name, logo, typeface, language, light, dark };
  return {
    sender: { words: "the property's default sender", value: sender },
    footer,
    look: { words: "the look of the property's mails", value: look },
  };
}

async function templateFields({ sql, property }: Tenant, campaign: Campaign): Promise<Fields> {
  const ids = templatesOf(campaign).map(({ id }) => id);
  if (ids.length === 0) return {};
  const templates = await sql<{ id: string; name: string; value: unknown }[]>`
    select id, name, jsonb_build_object('subject', subject, 'html', html, 'mjml', mjml, 'text', text, 'voice_script', voice_script) as value
    from templates where property_id = ${property.id} and id = any(${ids}::uuid[]) and deleted_at is null`;
  return Object.fromEntries(
    templates.map(({ id, name, value }) => [
      templateKey(id),
      { words: `the template ${JSON.stringify(name)}`, value },
    ]),
  );
}

/** All segments that the audience refers to, by whatever way. */
async function segmentFields(context: Tenant, campaign: Campaign): Promise<Fields> {
  if (campaign.started_at !== null) return {};
  try {
    const { segments } = await referencesOf(context, campaign);
    return Object.fromEntries(
      segments.map(({ id, name, ...rules }) => [
        segmentKey(id),
        { words: `the rules of the segment ${JSON.stringify(name)}`, value: rules },
      ]),
    );
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return { references: { words: "a record that the audience's rules name", value: fault.message } };
  }
}

/** The hash of a campaign's message alone, with its templates and variants. */
export async function contentHash(context: Tenant, campaign: Campaign): Promise<string> {
  const { content, variants } = await campaignPrints(context, campaign);
  return canonicalHash({ content, variants }).toString("hex");
}
