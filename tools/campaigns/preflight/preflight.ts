import { z } from "zod";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Campaign, checkStatus } from "#tools/campaigns/campaign/campaign.ts";
import { ticketWarnings } from "#tools/campaigns/campaign/game-ticket.ts";
import { findPause, pauseWords } from "#tools/campaigns/campaign/property-pause.ts";
import { serviceWarnings } from "#tools/campaigns/campaign/service-sending.ts";
import { audienceWarnings } from "#tools/campaigns/planning/audience.ts";
import { NoConsent } from "#tools/campaigns/stats/answer.ts";
import { Cost, estimatedCost, volumeOf } from "./cost.ts";
import { countAudience, Deferred } from "./count.ts";
import { checkReadiness } from "./readiness.ts";
import { Sample, sampleOf } from "./sample.ts";
import { costlyLetters, missingFields, missingWarnings, providerWarnings, smallTest } from "./warnings.ts";

// Sending and scheduling have fifteen seconds in all, and count once more for an agent's confirmation.
const COUNT_FOR_MS = 8_000;

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
  deferred: Deferred,
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
  const { problems, partial, rendered, variables } = await checkReadiness(context, campaign);
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
  const samples = rendered.map(sampleOf);
  const { segments, minutes } = volumeOf(rendered, allowed);
  const { cost, warnings: unpriced } = await estimatedCost(context, campaign, {
    messages: counted.isWhole ? allowed : null,
    segments,
    minutes,
  });
  const warnings = [
    ...(await serviceWarnings(context)),
    ...counted.warnings,
    ...(await audienceWarnings(context, campaign)),
    ...(await providerWarnings(context, campaign)),
    ...missingWarnings(missing, audience),
    ...smallTest(campaign, allowed),
    ...costlyLetters(samples),
    ...lostDesign(campaign),
    ...(await ticketWarnings(context, campaign)),
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
