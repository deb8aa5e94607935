import { z } from "zod";
import type { Context } from "#runtime/context.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import { sendingChannelOf } from "./addresses.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import { checkState } from "./move.ts";
import { obstacles } from "./obstacles.ts";
import { type Judgement, judgePage } from "./planning.ts";
import { allSegments, costlyLetters, gamingTraffic } from "./preflight-warnings.ts";
import { Sample } from "./samples.ts";
import { firstReason } from "./stats.ts";

const PAGE = 20_000;
// A request has five seconds in all, where its operation does not ask for more.
const COUNT_FOR_MS = 2_500;
const NOBODY_ALLOWED = "nobody in the audience may be sent to now; see blocked";

const Problem = z.object({ field: z.string(), message: z.string() });
export const Preflight = z.object({
  ok: z.boolean().describe("Whether it could be sent now"),
  errors: z.array(Problem).describe("What sending refuses, and what a scheduled campaign would fail for"),
  warnings: z.array(z.string()),
  audience: z.int(),
  blocked: z.record(z.string(), z.int()).describe("Each blocked player once, under the first reason"),
  allowed: z.int().describe("Players that would be sent to; several with one address get one message"),
  segments: z
    .int()
    .nullable()
    .describe("Of text messages: how many all would be paid for as, going by the samples"),
  sample_renders: z.array(Sample),
});
export type Preflight = z.output<typeof Preflight>;

/** What sending the campaign now would do. Writes nothing. */
export async function preflight(
  context: Context,
  campaign: Campaign,
  countForMs = COUNT_FOR_MS,
): Promise<Preflight> {
  const { problems, samples, warnings: doubts } = await obstacles(context, campaign);
  const errors = [...stateProblem(campaign), ...problems];
  const counted = await countAudience(context, campaign, countForMs);
  const { audience, allowed, blocked } = counted;
  const warnings = [
    ...counted.warnings,
    ...doubts,
    ...(await gamingTraffic(context, campaign)),
    ...costlyLetters(samples),
  ];
  const segments = allSegments(samples, allowed);
  return {
    ok: errors.length === 0,
    errors,
    warnings,
    audience,
    blocked,
    allowed,
    segments,
    sample_renders: samples,
  };
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
  warnings: string[];
}

async function countAudience(context: Context, campaign: Campaign, countForMs: number): Promise<Counted> {
  const counted: Counted = { audience: 0, allowed: 0, blocked: {}, warnings: [] };
  if (!hasAudience(campaign) || !sendingChannelOf(campaign.channel)) return counted;
  const startedAt = performance.now();
  for (let cursor: string | null = null; ; ) {
    const page: Judgement | null = await judgePage(context, campaign, cursor, PAGE).catch(unanswered);
    if (!page) return counted;
    counted.audience += page.count;
    counted.allowed += page.count;
    for (const { reasons, count } of page.blocked) {
      const reason = firstReason(reasons);
      counted.blocked[reason] = (counted.blocked[reason] ?? 0) + count;
      counted.allowed -= count;
    }
    if (page.count < PAGE) break;
    if (performance.now() - startedAt > countForMs) {
      counted.warnings.push(`only the first ${counted.audience} players of the audience were counted`);
      break;
    }
    cursor = page.last;
  }
  if (counted.audience === 0) counted.warnings.push("the audience is empty: nobody would get it");
  else if (counted.allowed === 0) counted.warnings.push(NOBODY_ALLOWED);
  return counted;
}

/** A segment that is gone, and rules that do not compile, are among the errors already. */
function unanswered(error: unknown): null {
  if (toFault(error).status >= 500) throw error;
  return null;
}
