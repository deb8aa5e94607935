import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { sendingChannelOf } from "./addresses.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import { Cost, estimatedCost } from "./cost.ts";
import { checkState } from "./move.ts";
import { obstacles } from "./obstacles.ts";
import { ADDRESS_BYTES, type Judgement, judgePage } from "./planning.ts";
import { allSegments, costlyLetters, gamingTraffic } from "./preflight-warnings.ts";
import { Sample } from "./samples.ts";
import { firstReason } from "./stats.ts";

const PAGE = 20_000;
// What sends or schedules has fifteen seconds in all, and counts once more what an agent has confirmed.
const COUNT_FOR_MS = 8_000;
const NOBODY_ALLOWED = "nobody in the audience may be sent to now; see blocked";

const EMPTY = { field: "audience", message: "is empty: nobody would get it" };

const Problem = z.object({
  field: z.string(),
  message: z.string(),
  stops_sending: z
    .boolean()
    .describe("Whether sending refuses, and a scheduled campaign fails; else those concerned get no message"),
});

export const Preflight = z.object({
  ok: z.boolean().describe("Whether it could be sent now, and to all who may be written to"),
  errors: z.array(Problem).describe("What is to be corrected first"),
  warnings: z.array(z.string()),
  audience: z.int(),
  blocked: z.record(z.string(), z.int()).describe("Each blocked player once, under the first reason"),
  allowed: z.int().describe("Messages: players that would be sent to, one of those who share an address"),
  segments: z
    .int()
    .nullable()
    .describe("Of text messages: how many all would be paid for as, going by the samples"),
  estimated_cost: Cost.nullable().describe("Of all that are allowed; null where nothing can be sent"),
  sample_renders: z.array(Sample),
});
export type Preflight = z.output<typeof Preflight>;

/** What sending the campaign now would do. Writes nothing. */
export async function preflight(
  context: Context,
  campaign: Campaign,
  countForMs = COUNT_FOR_MS,
): Promise<Preflight> {
  const { problems, partial, samples } = await obstacles(context, campaign);
  const counted = await countAudience(context, campaign, countForMs);
  const { audience, allowed, blocked, isEmpty } = counted;
  const errors = [
    ...[...stateProblem(campaign), ...problems].map((one) => ({ ...one, stops_sending: true })),
    ...[...partial, ...(isEmpty ? [EMPTY] : [])].map((one) => ({ ...one, stops_sending: false })),
  ];
  const segments = allSegments(samples, allowed);
  const { cost, warnings: unpriced } = await estimatedCost(context, campaign, {
    messages: counted.isWhole ? allowed : null,
    segments,
  });
  const warnings = [
    ...counted.warnings,
    ...(await gamingTraffic(context, campaign)),
    ...costlyLetters(samples),
    ...unpriced,
  ];
  return {
    ok: errors.length === 0,
    errors,
    warnings,
    audience,
    blocked,
    allowed,
    segments,
    estimated_cost: cost,
    sample_renders: samples,
  };
}

/** Whether sending it now would not be refused, whatever else is to be corrected. */
export function isSendable({ errors }: Pick<Preflight, "errors">): boolean {
  return !errors.some(({ stops_sending }) => stops_sending);
}

function stateProblem(campaign: Campaign): FaultDetail[] {
  try {
    checkState(campaign, "send");
    return [];
  } catch (error) {
    return [{ field: "status", message: toFault(error).message }];
  }
}

interface Counted {
  audience: number;
  allowed: number;
  blocked: Record<string, number>;
  /** All were looked at. */
  isWhole: boolean;
  /** All were looked at, and there are none. */
  isEmpty: boolean;
  warnings: string[];
}

async function countAudience(context: Context, campaign: Campaign, countForMs: number): Promise<Counted> {
  const counted: Counted = {
    audience: 0,
    allowed: 0,
    blocked: {},
    isWhole: false,
    isEmpty: false,
    warnings: [],
  };
  if (!hasAudience(campaign) || !sendingChannelOf(campaign.channel)) return counted;
  const startedAt = performance.now();
  const addresses = new Set<number>();
  for (let cursor: string | null = null; ; ) {
    const page: Judgement | null = await judgePage(context, campaign, cursor, PAGE).catch(unanswered);
    if (!page) return counted;
    counted.audience += page.count;
    for (const { reasons, count } of page.blocked) block(counted, firstReason(reasons), count);
    block(counted, "duplicate_address", addNew(addresses, page.addresses));
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

function block({ blocked }: Counted, reason: string, count: number): void {
  if (count > 0) blocked[reason] = (blocked[reason] ?? 0) + count;
}

/** Answers how many of the page's addresses were there before: planning skips those, whichever page they stand on. */
function addNew(known: Set<number>, page: Buffer): number {
  const before = known.size;
  for (let at = 0; at < page.length; at += ADDRESS_BYTES) known.add(page.readUIntBE(at, ADDRESS_BYTES));
  return page.length / ADDRESS_BYTES - (known.size - before);
}

/** A segment that is gone, and rules that do not compile, are among the errors already. */
function unanswered(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}
