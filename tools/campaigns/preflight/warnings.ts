import { type Fragment, identifier, join, sql } from "#db/sql.ts";
import type { SendingChannel } from "#runtime/channels/provider/channel.ts";
import { counted } from "#runtime/counted.ts";
import { toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { audienceSql } from "#tools/campaigns/planning/audience.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { lettersBeyondGsm } from "#tools/sms/segments.ts";
import { BARE_FIELDS, PLAYER_FIELDS } from "#tools/templates/rendering/liquid.ts";
import type { Sample } from "./sample.ts";

/** Warns of a provider that reaches nobody, or whose contract may not allow gambling content. */
export async function providerWarnings(context: Context, campaign: Campaign): Promise<string[]> {
  const channel = sendingChannel(campaign);
  const { providers, problems } = await ownProviders(context, channel, campaign.provider_id);
  const configured = configuredProvider(context.config, channel).name;
  const own = providers.map(({ kind }) => kind);
  const kinds = own.length > 0 || problems.length > 0 ? own : [configured];
  const vendors = [...new Set(kinds)].filter((kind) => !REACHES_NOBODY.has(kind)).join(", ");
  const mailbox = vendors === "" && kinds.length > 0 ? unreached(channel) : [];
  return [...mailbox, ...localLinks(context, channel), ...gamingTraffic(channel, vendors, own.length > 0)];
}

/** Providers that keep the messages, and deliver them to nobody. */
const REACHES_NOBODY: ReadonlySet<string> = new Set(["mailbox", "simulator"]);

function unreached(channel: SendingChannel): string[] {
  if (channel === "inbox") return [];
  if (channel === "voice") {
    return [
      "no provider is set for voice: the calls are simulated with made-up people, and nobody is called; they count as skipped",
    ];
  }
  return [
    `no provider is set for ${channel}: the messages stay in the built-in mailbox, and no player receives them`,
  ];
}

const LOCAL =
  /^(localhost|.*\.local(host)?|127\..*|10\..*|192\.168\..*|172\.(1[6-9]|2\d|3[01])\..*|0\.0\.0\.0|\[::1?\])$/;

/** The unsubscribe link of an email must open on the player's own machine. */
function localLinks({ config }: Pick<Context, "config">, channel: SendingChannel): string[] {
  if (channel !== "email" || !LOCAL.test(new URL(config.baseUrl).hostname)) return [];
  return [
    `links in the message point to ${config.baseUrl}, which players cannot open; the operator sets BASE_URL to the public address`,
  ];
}

/** The rules that vendors and carriers have for gambling, unless a record says that the contract allows it. */
function gamingTraffic(channel: SendingChannel, vendors: string, isRecorded: boolean): string[] {
  if (vendors === "") return [];
  if (channel === "sms") {
    return [
      `${vendors}: most US carriers, and Twilio's own policy, forbid gambling content in texts; without their agreement texts are filtered and the account may be closed`,
    ];
  }
  return isRecorded ? [] : [`${vendors}: nothing says that the provider's contract allows gaming content`];
}

/** One letter outside GSM-7 more than halves the length of a segment. */
export function costlyLetters(samples: readonly Sample[]): string[] {
  const letters = new Set(
    samples.flatMap(({ text, encoding }) => (encoding === "UCS-2" ? lettersBeyondGsm(text) : [])),
  );
  if (letters.size === 0) return [];
  return [`the text needs UCS-2, 70 characters a segment, because of: ${[...letters].join(" ")}`];
}

/** Warns of a test whose smallest variant cannot get its sample: then the fallback wins in every case. */
export function smallTest({ ab_test: test }: Campaign, allowed: number): string[] {
  if (!test || allowed === 0) return [];
  const weights = test.variants.map(({ weight }) => weight);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const tried = (allowed * test.test_percent) / 100;
  const least = Math.floor((tried * Math.min(...weights)) / total);
  if (least >= test.min_sample) return [];
  return [
    `the A/B test cannot decide: its smallest variant gets about ${counted(least, "message")}, and min_sample is ${test.min_sample}; the fallback would win`,
  ];
}

/** The fields of the message that part of the audience lacks, counted over all of it. */
export async function missingFields(
  context: Context,
  campaign: Campaign,
  variables: readonly string[],
): Promise<Record<string, number>> {
  const fields = [...new Set(variables.flatMap(fieldOf))];
  if (fields.length === 0) return {};
  const audience = await audienceSql(context, campaign).catch((error: unknown) => {
    // The errors already name rules that do not compile.
    if (toFault(error).status >= 500) throw error;
    return null;
  });
  if (!audience) return {};
  const counts = fields.map(
    (field, at) =>
      sql`count(*) filter (where coalesce(${textOf(field)}, '') = '')::int as ${identifier(`n${at}`)}`,
  );
  const [row] = await context.sql<Record<string, number>[]>`
    select ${join(counts)} from players p where p.property_id = ${context.property.id} and ${audience}`;
  const missing = fields.map((field, at): [string, number] => [field, row![`n${at}`]!]);
  return Object.fromEntries(missing.filter(([, count]) => count > 0));
}

export function missingWarnings(missing: Record<string, number>, audience: number): string[] {
  return Object.entries(missing).map(
    ([field, count]) =>
      `${count} of ${counted(audience, "player")} have no ${field}: they get the text's default, or no message if it has none`,
  );
}

function fieldOf(variable: string): string[] {
  const [first = "", second = "", third = ""] = variable.split(".");
  if (first !== "player") return BARE_FIELDS.includes(first) ? [first] : [];
  if (second === "custom") return third === "" ? [] : [`custom.${third}`];
  return (PLAYER_FIELDS as readonly string[]).includes(second) && second !== "tags" ? [second] : [];
}

function textOf(field: string): Fragment {
  if (!field.startsWith("custom.")) return sql`p.${identifier(field)}::text`;
  return sql`p.custom ->> ${field.slice("custom.".length)}::text`;
}
