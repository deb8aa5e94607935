import { z } from "zod";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, sendingChannelOf } from "#tools/campaigns/campaign/campaign.ts";
import { checkStatus } from "#tools/campaigns/campaign/states.ts";
import { findPause, pauseWords } from "#tools/campaigns/pause/property-pause.ts";
import { hasAudience } from "#tools/campaigns/planning/audience.ts";
import { ADDRESS_BYTES, type Judgement, judgePage } from "#tools/campaigns/planning/plan.ts";
import { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { firstReason } from "#tools/campaigns/stats/stats.ts";
import { Cost, estimatedCost, volumeOf } from "./cost.ts";
import { checkReadiness, Sample } from "./readiness.ts";
import { costlyLetters, missingFields, missingWarnings, providerWarnings, smallTest } from "./warnings.ts";

const PAGE = 20_000;
// Sending and scheduling have fifteen seconds in all, and count once more for an agent's confirmation.
const COUNT_FOR_MS = 8_000;
const NOBODY_ALLOWED = "nobody in the audience may be sent to now; see blocked";

const EMPTY = { field: "audience", message: "is empty: nobody would get it" };

const Problem = z.object({
  field: z.string(),
  message: z.string(),
  stops_sending: z
    .boolean()
    .describe(
      "true: sending is refused, and a scheduled campaign fails. false: only the affected players get no message",
    ),
});

export const Preflight = z.object({
  ok: z.boolean().describe("Whether it could be sent now, to all players whom the gate allows"),
  errors: z.array(Problem).describe("Correct these first"),
  warnings: z.array(z.string()),
  audience: z.int(),
  blocked: z.record(z.string(), z.int()).describe("Each blocked player once, under the first reason"),
  no_consent: NoConsent,
  allowed: z
    .int()
    .describe("Messages: players that would get one; players who share an address get one message"),
  deferred: z
    .record(z.string(), z.object({ count: z.int(), first_at: timestamp(), last_at: timestamp() }))
    .describe("Of the allowed: those that wait, by reason, and the first and last time of their messages"),
  missing_fields: z
    .record(z.string(), z.int())
    .describe("Fields of the message, with the number of players in the whole audience who lack them"),
  segments: z.int().nullable().describe("Of text messages: the segments of all, estimated by the samples"),
  minutes: z.int().nullable().describe("Of calls: about the minutes of all, if all are said to their end"),
  estimated_cost: Cost.nullable().describe("For all allowed players; null if nothing can be sent"),
  sample_renders: z.array(Sample),
});
export type Preflight = z.output<typeof Preflight>;

/** The effects of sending the campaign now. Writes nothing. */
export async function preflight(
  context: Context,
  campaign: Campaign,
  countForMs = COUNT_FOR_MS,
): Promise<Preflight> {
  const { problems, partial, samples, variables } = await checkReadiness(context, campaign);
  const missing = await missingFields(context, campaign, variables);
  const counted = await countAudience(context, campaign, countForMs);
  const { audience, allowed, blocked, isEmpty } = counted;
  const errors = [
    ...[...statusProblem(campaign), ...(await pauseProblem(context)), ...problems].map((one) => ({
      ...one,
      stops_sending: true,
    })),
    ...[...partial, ...(isEmpty ? [EMPTY] : [])].map((one) => ({ ...one, stops_sending: false })),
  ];
  const { segments, minutes } = volumeOf(samples, allowed);
  const { cost, warnings: unpriced } = await estimatedCost(context, campaign, {
    messages: counted.isWhole ? allowed : null,
    segments,
    minutes,
  });
  const warnings = [
    ...counted.warnings,
    ...(await providerWarnings(context, campaign)),
    ...missingWarnings(missing, audience),
    ...smallTest(campaign, allowed),
    ...costlyLetters(samples),
    ...lostDesign(campaign),
    ...unpriced,
  ];
  return {
    ok: errors.length === 0,
    errors,
    warnings,
    audience,
    blocked,
    no_consent: counted.noConsent,
    allowed,
    deferred: counted.deferred,
    missing_fields: missing,
    segments,
    minutes,
    estimated_cost: cost,
    sample_renders: samples,
  };
}

const DESIGN = /<(?:a|img|table|style|button)\b/i;

/** The inbox shows text: a link is written out behind its words, and the rest of the HTML is lost. */
function lostDesign({ channel, body_html, body_text }: Campaign): string[] {
  if (channel !== "inbox" && channel !== "loyaltyvip") return [];
  if (body_text !== null || body_html === null || !DESIGN.test(body_html)) return [];
  return [
    "body_html: the inbox shows text. Links are written out; images and design are lost. Give body_text",
  ];
}

/** Whether sending would accept the campaign now, even with errors that concern single players. */
export function isSendable({ errors }: Pick<Preflight, "errors">): boolean {
  return !errors.some(({ stops_sending }) => stops_sending);
}

async function pauseProblem(context: Context): Promise<FaultDetail[]> {
  const pause = await findPause(context);
  return pause ? [{ field: "status", message: pauseWords(pause) }] : [];
}

function statusProblem(campaign: Campaign): FaultDetail[] {
  try {
    checkStatus(campaign, "send");
    return [];
  } catch (error) {
    return [{ field: "status", message: toFault(error).message }];
  }
}

interface Counted {
  audience: number;
  allowed: number;
  blocked: Record<string, number>;
  noConsent: z.output<typeof NoConsent>;
  deferred: Preflight["deferred"];
  /** The count has reached the whole audience. */
  isWhole: boolean;
  /** The audience is empty. */
  isEmpty: boolean;
  warnings: string[];
}

async function countAudience(context: Context, campaign: Campaign, countForMs: number): Promise<Counted> {
  const counted: Counted = {
    audience: 0,
    allowed: 0,
    blocked: {},
    noConsent: { refused: 0, never_asked: 0, no_address: 0 },
    deferred: {},
    isWhole: false,
    isEmpty: false,
    warnings: [],
  };
  if (!hasAudience(campaign) || !sendingChannelOf(campaign.channel)) return counted;
  const startedAt = performance.now();
  const addresses = new Set<number>();
  for (let cursor: string | null = null; ; ) {
    const page: Judgement | null = await judgePage(context, campaign, cursor, PAGE).catch(nullIfRefused);
    if (!page) return counted;
    counted.audience += page.count;
    for (const { reasons, cause, count } of page.blocked) {
      const reason = firstReason(reasons);
      addBlocked(counted, reason, count);
      if (reason === "no_consent") counted.noConsent[cause] += count;
    }
    for (const one of page.deferred) addDeferred(counted, one);
    addBlocked(counted, "duplicate_address", addNew(addresses, page.addresses));
    counted.allowed = addresses.size;
    counted.isWhole = page.count < PAGE;
    if (counted.isWhole) break;
    if (performance.now() - startedAt > countForMs) {
      counted.warnings.push(`only the first ${counted.audience} players of the audience were counted`);
      break;
    }
    cursor = page.last;
  }
  counted.isEmpty = counted.audience === 0;
  if (counted.audience > 0 && counted.allowed === 0) counted.warnings.push(NOBODY_ALLOWED);
  return counted;
}

function addBlocked({ blocked }: Counted, reason: string, count: number): void {
  if (count > 0) blocked[reason] = (blocked[reason] ?? 0) + count;
}

function addDeferred({ deferred }: Counted, { reason, ...more }: Judgement["deferred"][number]): void {
  const all = deferred[reason] ? [deferred[reason], more] : [more];
  deferred[reason] = {
    count: all.reduce((sum, { count }) => sum + count, 0),
    first_at: all.map(({ first_at }) => first_at).sort()[0]!,
    last_at: all
      .map(({ last_at }) => last_at)
      .sort()
      .at(-1)!,
  };
}

/** Answers the number of the page's addresses that earlier pages had: planning skips these. */
function addNew(known: Set<number>, page: Buffer): number {
  const before = known.size;
  for (let at = 0; at < page.length; at += ADDRESS_BYTES) known.add(page.readUIntBE(at, ADDRESS_BYTES));
  return page.length / ADDRESS_BYTES - (known.size - before);
}

/** The errors already name a missing segment, and rules that do not compile. */
function nullIfRefused(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}
