import { callTimesOf } from "#runtime/channels/index.ts";
import type { SendingChannel, StoredMessage, StoreMessages } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import type { Content } from "#tools/campaigns/content/content.ts";
import { compileContent, notReady } from "#tools/campaigns/preflight/readiness.ts";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { type Candidate, chooseProviders } from "#tools/providers/choose.ts";
import { openRoutes, type Routes } from "#tools/providers/routes.ts";
import { longestCall, voiceLaws } from "#tools/voice/law/law.ts";
import type { WaitingRules } from "./claim.ts";
import { recoverSends } from "./repeats.ts";

/** The state of one delivery job. The parallel loops of its shift share it. */
export interface Delivery<C extends SendingChannel> {
  readonly job: JobContext;
  readonly campaignId: string;
  readonly channel: C;
  readonly routes: Routes<C>;
  /** By the send's id: messages given to `mailbox`. They are stored together with their outcomes. */
  readonly kept: Map<string, StoredMessage>;
  /** Compiled from the `campaign` as it was read. */
  readonly content: Content<C>;
  readonly campaign: Campaign;
  /** The rules that concern the campaign, as far as a claim has found some. */
  rules: WaitingRules;
  linkOf(sendId: string): string;
  /** Seconds from the claim of a call to its end at the latest; null of messages. */
  readonly callSeconds: number | null;
  /** A send that the vendor may have is sent once more, by the same vendor. */
  readonly repeatable: boolean;
  /** The next claim looks after this send: all before it have been claimed or passed over. */
  after: string | null;
  /** A send before `after` has been given back. */
  isBehind: boolean;
  /** Nothing more may be claimed. */
  stopped: boolean;
  /** Seconds until a provider may be given more; null while no provider delays the campaign. */
  resumeIn: number | null;
  /** Why no provider takes messages; null when one does. Undefined while none was asked. */
  down: string | null | undefined;
  /** The number of messages without the vendor's answer that no loop waits for. */
  unanswered: number;
  /** The recordings of these messages. Each resolves with the error that prevented it, or null. */
  readonly recordings: Promise<{ error: unknown } | null>[];
  /** Set when the shift's time is over: the next shift begins after this send. */
  reached: string | null | undefined;
}

/**
 * Recovers the sends of an earlier attempt, and compiles the content for a shift that begins `after` a send. Null when
 * the campaign is not sending.
 */
export async function openDelivery<C extends SendingChannel>(
  context: Context,
  job: JobContext,
  campaign: Campaign,
  channel: C,
  after: string | null,
): Promise<Delivery<C> | null> {
  const kept: Delivery<C>["kept"] = new Map();
  const store: StoreMessages = async (messages) => {
    for (const one of messages) kept.set(one.message.id, one);
  };
  const candidates = await chooseProviders(context, channel, campaign.provider_id);
  const routes = openRoutes(job, channel, candidates, store);
  // With a second provider nothing is repeated: the first provider may already have the message.
  const [first, other] = routes.all;
  const repeatable = first?.sender.repeatable && !other ? first.candidate : null;
  // Only the first and the last shift look at all sends.
  if (after === null) await recoverSends(context, job.jobId, { campaign, repeatable });
  if (campaign.status !== "sending") return null;
  const { content, problems } = await compileContent(channel, context, campaign);
  if (!content) throw notReady(problems);
  const links = unsubscribeLinks(job.config);
  return {
    job,
    campaignId: campaign.id,
    channel,
    routes,
    kept,
    content: (await content.outgoing?.(context)) ?? content,
    campaign,
    rules: { hours: false, caps: false },
    linkOf: (sendId) => links(job.propertyId!, sendId),
    callSeconds: channel === "voice" ? longestCall(await voiceLaws(context), longestRing(candidates)) : null,
    repeatable: repeatable !== null,
    after,
    isBehind: false,
    stopped: false,
    resumeIn: null,
    down: undefined,
    unanswered: 0,
    recordings: [],
    reached: undefined,
  };
}

/** Seconds that a call of any of these providers may ring, as far as the vendor takes no time from us. */
function longestRing(candidates: readonly Candidate[]): number {
  return Math.max(0, ...candidates.map(({ name }) => callTimesOf(name)?.rings ?? 0));
}
