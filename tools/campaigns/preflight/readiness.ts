import { NIL_UUID } from "#db/types.ts";
import type { Messages, SendingChannel } from "#runtime/channels/provider/channel.ts";
import { Fault, type FaultDetail, toFault } from "#runtime/faults.ts";
import { inTurns } from "#runtime/limits/turns.ts";
import { maskedValue } from "#runtime/masking/values.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { ticketProblems } from "#tools/campaigns/campaign/game-ticket.ts";
import {
  type Compile,
  type CompileContext,
  type Content,
  flawsIn,
  propertyVariables,
  type Recipient,
} from "#tools/campaigns/content/content.ts";
import { emailContent } from "#tools/campaigns/content/email.ts";
import { inboxContent } from "#tools/campaigns/content/inbox.ts";
import { pushContent } from "#tools/campaigns/content/push.ts";
import { smsContent } from "#tools/campaigns/content/sms.ts";
import { compileVariants, variantField } from "#tools/campaigns/content/variants.ts";
import { voiceContent } from "#tools/campaigns/content/voice.ts";
import { audienceSql, firstAllowed, hasAudience } from "#tools/campaigns/planning/audience.ts";
import { messageLinks, preferencesUrl, unsubscribeLinks } from "#tools/player-links/links.ts";
import { ownProviders } from "#tools/providers/choose.ts";
import { completePlayer, PLAYER_FIELDS, ranOutOfTime } from "#tools/templates/rendering/liquid.ts";

const SAMPLES = 3;

interface Readiness {
  /** Sending refuses these. */
  problems: FaultDetail[];
  /** Some recipients get no message because of these. */
  partial: FaultDetail[];
  /** Some messages as they would go out. */
  rendered: RenderedMessage[];
  /** The variables of the messages. */
  variables: readonly string[];
}

/**
 * Whether the campaign can be sent as it is now. The preflight, sending, scheduling and the scheduled start all take
 * this list, so no problem of one passes another.
 */
export async function checkReadiness(context: Context, campaign: Campaign): Promise<Readiness> {
  const channel = sendingChannel(campaign);
  const { content, problems: faults } = await compileContent(channel, context, campaign);
  const problems = [
    ...faults,
    ...metricProblems(context, campaign),
    ...(await audienceProblems(context, campaign)),
    ...(content && campaign.game_ticket ? await ticketProblems(context, campaign, content.variables) : []),
  ];
  if (!content || problems.length > 0) return { problems, partial: [], rendered: [], variables: [] };
  const { rendered, broken } = await renderFirst(context, campaign, content);
  const flaws = rendered.flatMap((one) => flawsIn(bodiesOf(one), context.config.baseUrl));
  // Compiling the content has refused those of the text itself.
  const links = [...new Set(flaws.map(({ body }) => body))].map((body) => {
    return { field: `body_${body}`, message: "a link that it takes from a player's data is not https" };
  });
  // A value that one player lacks costs that player's message alone; one that all lack is a fault of the message.
  const isRendered = ({ variant_id }: { variant_id: string | null }) =>
    rendered.some((one) => one.variant_id === variant_id);
  const unrendered = broken.filter((one) => !isRendered(one));
  return {
    problems: [...detailsOf(unrendered), ...links],
    partial: detailsOf(broken.filter(isRendered)),
    rendered: campaign.ab_test ? firstOfEach(rendered) : rendered,
    variables: content.variables,
  };
}

/** A campaign's compiled content, or a sentence for each field that prevents sending. */
export type Compiled<C extends SendingChannel = SendingChannel> =
  | { content: Content<C>; problems: [] }
  | { content: null; problems: FaultDetail[] };

const CONTENTS: { [C in SendingChannel]: Compile<C> } = {
  email: emailContent,
  sms: smsContent,
  voice: voiceContent,
  push: pushContent,
  inbox: inboxContent,
};

/** Compiles a campaign's content for its channel. Asks the database, and no provider. */
export async function compileContent<C extends SendingChannel>(
  channel: C,
  context: CompileContext,
  campaign: Campaign,
): Promise<Compiled<C>> {
  const compile = CONTENTS[channel];
  const content = campaign.ab_test
    ? await compileVariants(compile, context, campaign, campaign.ab_test)
    : await compile(context, campaign);
  const { problems: unusable } = await ownProviders(context, channel, campaign.provider_id);
  const problems = [
    ...(hasAudience(campaign) ? [] : [NO_AUDIENCE]),
    ...(Array.isArray(content) ? content : []),
    ...unusable,
  ];
  if (problems.length > 0 || Array.isArray(content)) return { content: null, problems };
  return { content, problems: [] };
}

/** One fault that names all problems. */
export function notReady(problems: FaultDetail[]): Fault {
  const message = problems.map((problem) => `${problem.field}: ${problem.message}`).join("; ");
  return new Fault("invalid", { message, details: problems });
}

const NO_AUDIENCE: FaultDetail = {
  field: "segment_id",
  message: 'the campaign has no audience; give segment_id, conditions, or audience: "all"',
};

/** The property's tracking may be off, and then no open or click decides a test. */
function metricProblems({ property }: Context, { ab_test }: Campaign): FaultDetail[] {
  if (!ab_test || property.tracking === "on" || !(ab_test.metric === "open" || ab_test.metric === "click"))
    return [];
  const message = `the property's tracking is off, so that no ${ab_test.metric} is counted`;
  return [{ field: "ab_test.metric", message }];
}

/** A segment may have been deleted, and rules may not compile. */
async function audienceProblems(context: Context, campaign: Campaign): Promise<FaultDetail[]> {
  try {
    await audienceSql(context, campaign);
    return [];
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return fault.details ?? [{ field: "segment_id", message: fault.message }];
  }
}

/** The bodies to check. A text beside HTML is made of the HTML, so it has no faults of its own. */
function bodiesOf({ message }: RenderedMessage) {
  return "html" in message && message.html ? { html: message.html } : { text: message.text };
}

function detailsOf(faults: readonly FaultDetail[]): FaultDetail[] {
  return faults.map(({ field, message }) => ({ field, message }));
}

/** One message of each variant is enough to look at. */
function firstOfEach(rendered: readonly RenderedMessage[]): RenderedMessage[] {
  return rendered.filter(
    ({ variant_id }, index) => rendered.findIndex((one) => one.variant_id === variant_id) === index,
  );
}

/** A message as it would go out to one player. */
export interface RenderedMessage {
  player_id: string;
  variant_id: string | null;
  message: Messages[SendingChannel];
  /** The values that its tags may have printed. */
  values: string[];
}

/** A message that cannot be rendered. */
interface Broken extends FaultDetail {
  variant_id: string | null;
}

/** Renders the messages to the first allowed players, of each variant. */
async function renderFirst(
  context: Context,
  campaign: Campaign,
  content: Content,
): Promise<{ rendered: RenderedMessage[]; broken: Broken[] }> {
  const players = await firstAllowed(context, campaign, PLAYER_FIELDS, SAMPLES);
  const rendered: RenderedMessage[] = [];
  const broken: Broken[] = [];
  for (const [index, variant_id] of (content.variants ?? [null]).entries()) {
    for (const player of players) {
      try {
        const message = await renderedFor(context, content, player, variant_id);
        const values = valuesOf(context, content, recipientOf(context, player, variant_id));
        rendered.push({ player_id: String(player.id), variant_id, message, values });
      } catch (error) {
        const fault = toFault(error);
        if (fault.status >= 500) throw error;
        // The machine was too busy. Delivery renders the message again.
        if (ranOutOfTime(fault)) continue;
        const part = fault.details?.[0]?.field ?? "body_html";
        const field = variant_id === null ? part : variantField(index, part);
        const message = `cannot be rendered for player ${player.player_id}: ${fault.message}`;
        broken.push({ field, message, variant_id });
      }
    }
  }
  return { rendered, broken };
}

/** The messages to a player with made-up values, of each variant; none where problems prevent it. */
export async function madeUp(context: Context, campaign: Campaign): Promise<RenderedMessage[]> {
  const channel = sendingChannel(campaign);
  const { content } = await compileContent(channel, context, campaign);
  const rendered: RenderedMessage[] = [];
  for (const variant_id of content?.variants ?? [null]) {
    if (!content) break;
    const player = { ...completePlayer(content.variables), address: MADE_UP[channel] };
    const message = await renderedFor(context, content, player, variant_id);
    const values = valuesOf(context, content, recipientOf(context, player, variant_id));
    rendered.push({ player_id: NIL_UUID, variant_id, message, values });
  }
  return rendered;
}

/** The addresses of made-up players. The number is one of those that are kept for fiction. */
export const MADE_UP: Record<SendingChannel, string> = {
  email: "player@example.com",
  sms: "+12025550123",
  voice: "+12025550123",
  push: "a made-up player",
  inbox: "a made-up player",
};

/** Renders the content for one player, whose row has the columns of templates and `address`. Throws as `messageTo`. */
export async function renderedFor(
  context: Context,
  content: Content,
  player: Record<string, unknown>,
  variant_id: string | null,
): Promise<Messages[SendingChannel]> {
  const recipient = recipientOf(context, player, variant_id);
  return inTurns(context.property.id, () => content.messageTo(recipient, linkOf(context)));
}

function linkOf({ config, property }: Context): string {
  return unsubscribeLinks(config)(property.id, NIL_UUID);
}

/** The texts and numbers of all that a template knows of a player, of the property, and the links of the message. */
function valuesOf(context: Context, { variables }: Content, recipient: Recipient): string[] {
  const { config, property } = context;
  const link = linkOf(context);
  const links = messageLinks(config, property.id, variables)(NIL_UUID);
  return textsIn([recipient, propertyVariables(property), link, preferencesUrl(link), links]);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function recipientOf(
  { call }: Pick<Context, "call">,
  player: Record<string, unknown>,
  variant_id: string | null,
): Recipient {
  return {
    ...(call.masked ? pseudonymous(player) : player),
    send_id: NIL_UUID,
    address: String(player.address),
    ...(variant_id !== null && { variant_id }),
  };
}

/** The player's values as masked answers have them, and still of their kinds, so that texts render. */
function pseudonymous({ address, ...player }: Record<string, unknown>): Record<string, unknown> {
  const { birth_date, custom } = player;
  return {
    ...(maskedValue(player) as object),
    address,
    birth_date: typeof birth_date === "string" ? `${birth_date.slice(0, 4)}-01-01` : null,
    custom: Object.fromEntries(Object.entries(custom ?? {}).map(([key, value]) => [key, placeholder(value)])),
  };
}

/** A value of the same kind that tells of nobody. */
function placeholder(value: unknown): unknown {
  if (typeof value === "number") return 0;
  return typeof value === "string" ? "•••" : value;
}
