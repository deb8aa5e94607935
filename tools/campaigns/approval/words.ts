import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { counted } from "#runtime/counted.ts";
import type { Context } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import { type Campaign, sendingChannel, sentNow } from "#tools/campaigns/campaign/campaign.ts";
import { ticketWords } from "#tools/campaigns/campaign/game-ticket.ts";
import { templateOf } from "#tools/campaigns/content/content.ts";
import { type MessageParts, messageWords } from "#tools/campaigns/content/message-words.ts";
import { otherWords, type Source } from "#tools/campaigns/content/other-words.ts";
import { withVariant } from "#tools/campaigns/content/variants.ts";
import { audienceWarnings } from "#tools/campaigns/planning/audience.ts";
import { countWaiting } from "#tools/campaigns/planning/waiting.ts";
import type { Cost } from "#tools/campaigns/preflight/cost.ts";
import { type Preflight, preflight } from "#tools/campaigns/preflight/preflight.ts";
import { checkReadiness, madeUp } from "#tools/campaigns/preflight/readiness.ts";
import { fieldsOf } from "#tools/campaigns/preflight/sample.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";

const MOST_FAULT = 200;

/** The facts for a person's consent to send or to schedule a campaign. */
export async function sendingWords(
  context: Context,
  campaign: Campaign,
  checked: Preflight,
): Promise<string[]> {
  return [
    `The campaign ${quoted(campaign.name)} by ${campaign.channel} ${whenOf(context, campaign)}.`,
    ...(await examplesOf(context, campaign)),
    ...reachOf(checked),
    ...(await audienceWords(context, campaign)),
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
  { remaining, estimated_cost }: { remaining: number; estimated_cost: Cost | null },
): Promise<string[]> {
  if (campaign.started_at === null) {
    const going = campaign.send_in_player_timezone ? campaign : sentNow(campaign);
    return sendingWords(context, going, await preflight(context, going));
  }
  return [
    `The campaign ${quoted(campaign.name)} by ${campaign.channel} goes on now. It is paused${campaign.status_reason ? `: ${quoted(campaign.status_reason, MOST_FAULT)}` : ""}.`,
    ...(await examplesOf(context, campaign)),
    `${counted(remaining, "message waits", "messages wait")} to be sent.`,
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
  const checked = campaign.started_at === null ? await preflight(context, campaign) : null;
  const people = checked
    ? counted(checked.allowed, `person ${ofAudience(checked)} gets`, `people ${ofAudience(checked)} get`)
    : "those who have not got it yet get";
  return [
    `This changes what ${people} ${whenOf(context, campaign)} from the campaign ${quoted(campaign.name)}, which is ${campaign.status}: ${changes.join(", ")}.`,
    ...(await examplesOf(context, campaign)),
    ...(checked ? await audienceWords(context, campaign) : []),
    ...(await ticketWords(context, campaign)),
    ...settingsOf(campaign),
    ...(checked ? faultsOf(checked) : []),
  ];
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

/**
 * One message, of each variant where it has some. Its player's name is cut short: it is a stranger's text, and nobody
 * here needs it. Made-up values stand for no player: the gate may allow some until the message goes out.
 * A message that nothing fills yet is shown as it is written.
 */
export async function examplesOf(context: Context, campaign: Campaign): Promise<string[]> {
  const masked = { ...context, call: { ...context.call, masked: true } };
  const { rendered } = await checkReadiness(masked, campaign);
  const samples = rendered.length > 0 ? rendered : await madeUp(masked, campaign);
  const sources = await sourcesOf(context, campaign);
  const { inbox } = campaign;
  const messages = samples.map(({ message, variant_id }) => ({ ...fieldsOf(message), inbox, variant_id }));
  const shown = messages.length > 0 ? messages : sources;
  const unfilled = messages.length > 0 ? "" : ", unfilled";
  const words = (campaign.ab_test ? shown : shown.slice(0, 1)).flatMap(({ variant_id, ...parts }, index) =>
    messageWords(parts, `One message of ${index === 0 ? "them" : `the variant ${variant_id}`}${unfilled}`),
  );
  const values = messages.length > 0 ? samples.flatMap((sample) => sample.values) : null;
  return [...samples.slice(0, 1).flatMap(senderWords), ...words, ...otherWords(sources, { words, values })];
}

/** Characters: a whole name with its address. A part of an address may be of another domain. */
const MOST_SENDER = 500;

/** Readers of a mail see its sender first, and answer to its address of replies. */
function senderWords({ message }: { message: Messages[SendingChannel] }): string[] {
  if (!("subject" in message)) return [];
  const { from, replyTo } = message;
  const sender = from.name ? `${from.name} <${from.email}>` : from.email;
  const replies = replyTo ? ` Replies go to ${quoted(replyTo, MOST_SENDER)}.` : "";
  return [`It comes from ${quoted(sender, MOST_SENDER)}.${replies}`];
}

/** The message before it is filled, of each variant. */
async function sourcesOf(context: Context, campaign: Campaign) {
  const { ab_test } = campaign;
  const forms = ab_test ? ab_test.variants.map((variant) => withVariant(campaign, variant)) : [campaign];
  const sources: (MessageParts & Source & { variant_id: string | null })[] = [];
  for (const [index, form] of forms.entries()) {
    const { subject, preheader, body_html, body_mjml, body_text, voice_script, inbox } = form;
    const { template } = await templateOf(context, form);
    const isOwn = [body_html, body_mjml, body_text].some((body) => body !== null);
    const script = voice_script ?? template?.voice_script;
    sources.push({
      subject: subject ?? template?.subject,
      preheader,
      html: isOwn ? (body_html ?? body_mjml) : (template?.html ?? template?.mjml),
      text: script ? JSON.stringify(script) : isOwn ? body_text : template?.text,
      inbox,
      script: script ?? null,
      variant_id: ab_test?.variants[index]?.id ?? null,
    });
  }
  return sources;
}

const ofAudience = ({ audience }: Preflight) => `(${audience} in the audience)`;

function reachOf({ allowed, audience, blocked }: Preflight): string[] {
  const left = Object.entries(blocked).map(([reason, count]) => `${reason} ${count}`);
  return [
    `It would reach ${allowed} of ${counted(audience, "player")}.${left.length > 0 ? ` Left out: ${left.join(", ")}.` : ""}`,
  ];
}

async function audienceWords(context: Context, campaign: Campaign): Promise<string[]> {
  return (await audienceWarnings(context, campaign)).map((warning) => `Warning: ${warning}`);
}

/** A scheduled campaign with such a fault fails later, when nobody looks. */
function faultsOf({ errors }: Preflight): string[] {
  return errors.map(({ field, message, stops_sending }) => {
    const effect = stops_sending ? "As it is, the campaign fails" : "As it is, some players get no message";
    return `To be corrected first, ${field}: ${message.slice(0, MOST_FAULT).toWellFormed()}. ${effect}.`;
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
          `A test: ${ab_test.test_percent} % get the variants ${variants}; after ${counted(ab_test.duration_minutes, "minute")} the rest get the best by ${ab_test.metric}.`,
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
  return [`It would cost about ${amount} ${currency}: ${counted(units!, unit)} at ${unit_price}.`];
}
