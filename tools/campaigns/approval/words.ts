import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel, sentNow } from "#tools/campaigns/campaign/campaign.ts";
import { ticketWords } from "#tools/campaigns/campaign/game-ticket.ts";
import { countWaiting } from "#tools/campaigns/planning/waiting.ts";
import type { Cost } from "#tools/campaigns/preflight/cost.ts";
import { type Preflight, preflight } from "#tools/campaigns/preflight/preflight.ts";
import { checkReadiness } from "#tools/campaigns/preflight/readiness.ts";
import { fieldsOf } from "#tools/campaigns/preflight/sample.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";

const MOST_EXAMPLE = 200;
const MOST_NAME = 100;

const quoted = (text: string, most = MOST_NAME) => JSON.stringify(text.slice(0, most).toWellFormed());

/** The facts for a person's consent to send or to schedule a campaign. */
export async function sendingWords(
  context: Context,
  campaign: Campaign,
  checked: Preflight,
): Promise<string[]> {
  return [
    `The campaign ${quoted(campaign.name)} by ${campaign.channel} ${whenOf(context, campaign)}.`,
    ...(await exampleOf(context, campaign)),
    ...reachOf(checked),
    ...(await waitingWords(context, campaign)),
    ...(await ticketWords(context, campaign)),
    ...settingsOf(campaign),
    await providerOf(context, campaign),
    ...costOf(checked.estimated_cost),
    ...faultsOf(checked),
  ];
}

/** The facts for a person's consent to resume a campaign. */
export async function resumingWords(
  context: Context,
  campaign: Campaign,
  { remaining = 0, estimated_cost = null }: { remaining?: number; estimated_cost?: Cost | null },
): Promise<string[]> {
  if (campaign.started_at === null) {
    const going = campaign.send_in_player_timezone ? campaign : sentNow(campaign);
    return sendingWords(context, going, await preflight(context, going));
  }
  return [
    `The campaign ${quoted(campaign.name)} by ${campaign.channel} goes on now. It is paused${campaign.status_reason ? `: ${campaign.status_reason}` : ""}.`,
    ...(await exampleOf(context, campaign)),
    `${remaining} messages wait to be sent.`,
    ...(await ticketWords(context, campaign)),
    ...settingsOf(campaign),
    await providerOf(context, campaign),
    ...costOf(estimated_cost),
  ];
}

/** The facts for a person's consent to change an approved campaign. */
export async function changeWords(
  context: Context,
  campaign: Campaign,
  changes: string[],
): Promise<string[]> {
  const people =
    campaign.started_at === null ? await reached(context, campaign) : "those who have not got it yet";
  return [
    `This changes what ${people} get ${whenOf(context, campaign)} from the campaign ${quoted(campaign.name)}, which is ${campaign.status}: ${changes.join(", ")}.`,
    ...(await exampleOf(context, campaign)),
    ...(await ticketWords(context, campaign)),
    ...settingsOf(campaign),
  ];
}

async function reached(context: Context, campaign: Campaign): Promise<string> {
  const { allowed, audience } = await preflight(context, campaign);
  return `${allowed} people (${audience} in the audience)`;
}

function whenOf({ property }: Context, campaign: Campaign): string {
  const { scheduled_at, send_in_player_timezone } = campaign;
  if (scheduled_at === null || campaign.started_at !== null) return "now";
  const time = new Intl.DateTimeFormat("en-US", {
    timeZone: property.timezone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).format(new Date(scheduled_at));
  return send_in_player_timezone
    ? `on ${time} by each player's own clock`
    : `on ${time} (${property.timezone})`;
}

/** How one message begins. Its player's name is cut short: it is a stranger's text, and nobody here needs it. */
async function exampleOf(context: Context, campaign: Campaign): Promise<string[]> {
  const { rendered } = await checkReadiness(
    { ...context, call: { ...context.call, masked: true } },
    campaign,
  );
  const [first] = rendered;
  if (!first) return [];
  const { subject, text } = fieldsOf(first.message);
  return [`One message of them: ${quoted(subject ?? text, MOST_EXAMPLE)}`];
}

function reachOf({ allowed, audience, blocked }: Preflight): string[] {
  const left = Object.entries(blocked).map(([reason, count]) => `${reason} ${count}`);
  return [
    `It would reach ${allowed} of ${audience} players.${left.length > 0 ? ` Left out: ${left.join(", ")}.` : ""}`,
  ];
}

/** A scheduled campaign with such a fault fails later, when nobody looks. */
function faultsOf({ errors }: Preflight): string[] {
  return errors.map(({ field, message, stops_sending }) => {
    const effect = stops_sending ? "As it is, the campaign fails" : "As it is, some players get no message";
    return `To be corrected first, ${field}: ${message.slice(0, MOST_EXAMPLE).toWellFormed()}. ${effect}.`;
  });
}

async function waitingWords(context: Context, campaign: Campaign): Promise<string[]> {
  const { counted, waiting, reasons } = await countWaiting(context, campaign);
  if (waiting === 0) return [];
  const named = Object.entries(reasons).flatMap(([reason, count]) =>
    count > 0 ? [`${reason} ${count}`] : [],
  );
  return [`${counted - waiting} of them at that time; ${waiting} wait longer: ${named.join(", ")}.`];
}

/** The test, the holdout, and each rule that is off. */
function settingsOf(campaign: Campaign): string[] {
  const { ab_test, holdout_percent, ignore_frequency_cap, is_transactional } = campaign;
  const off = [
    ...(ignore_frequency_cap ? ["frequency rules (ignore_frequency_cap)"] : []),
    ...(is_transactional ? ["frequency rules, which do not count it either (is_transactional)"] : []),
  ];
  const variants = ab_test?.variants.map(({ id }) => id).join(", ");
  return [
    ...(off.length > 0 ? [`Rules that are OFF for it: ${off.join("; ")}.`] : []),
    ...(ab_test
      ? [
          `A test: ${ab_test.test_percent} % get the variants ${variants}; after ${ab_test.duration_minutes} minutes the rest get the best by ${ab_test.metric}.`,
        ]
      : []),
    ...(holdout_percent > 0 ? [`Held out: ${holdout_percent} % get nothing.`] : []),
  ];
}

async function providerOf(context: Context, campaign: Campaign): Promise<string> {
  const channel = sendingChannel(campaign);
  const { providers, problems } = await ownProviders(context, channel, campaign.provider_id);
  const [own] = providers;
  if (own) return `Provider: ${quoted(own.name)} (${own.kind}).`;
  if (problems.length > 0) return "No provider carries it.";
  const { name } = configuredProvider(context.config, channel);
  if (name === "simulator") return "Provider: the built-in simulator. Nobody is called.";
  return name === "mailbox" && channel !== "inbox"
    ? "Provider: the built-in mailbox. The messages stay there, and nobody receives them."
    : `Provider: ${name}, the service's own.`;
}

function costOf(cost: Cost | null): string[] {
  if (!cost) return [];
  const { amount, currency, unit, units, unit_price } = cost;
  if (amount === null) return ["Its cost is not known."];
  if (unit_price === 0) return ["It would cost nothing."];
  return [`It would cost about ${amount} ${currency}: ${units} ${unit}s at ${unit_price}.`];
}
