import { z } from "zod";
import type { Messages, SendingChannel } from "#runtime/channels/channel.ts";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation.ts";
import { maskAddress } from "#tools/players/address.ts";
import { ENCODINGS, segmentsOf } from "#tools/sms/segments.ts";
import { sendingChannelOf } from "./addresses.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import type { Content } from "./content.ts";
import { checkState } from "./move.ts";
import { firstAllowed, judgePage } from "./planning.ts";
import { PLAYER_FIELDS } from "./player-fields.ts";
import { allSegments, costlyLetters, gamingTraffic, plainLinks } from "./preflight-warnings.ts";
import { readiness } from "./readiness.ts";
import { firstReason } from "./stats.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";

const PAGE = 20_000;
// A request has five seconds in all, where its operation does not ask for more.
const COUNT_FOR_MS = 2_500;
const SAMPLES = 3;
const NO_SEND = "00000000-0000-0000-0000-000000000000";

const Problem = z.object({ field: z.string(), message: z.string() });
const Sample = z.object({
  player_id: z.uuid(),
  to: z.string().describe("Masked"),
  subject: z.string().nullable(),
  html: z.string().nullable(),
  text: z.string(),
  segments: z.int().nullable().describe("Of a text message: how many it is paid for as"),
  encoding: z.enum(ENCODINGS).nullable().describe("Of a text message"),
});

export type Sample = z.output<typeof Sample>;

export const Preflight = z.object({
  ok: z.boolean().describe("Whether it could be sent now"),
  errors: z.array(Problem),
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
  const errors: FaultDetail[] = [...stateProblem(campaign)];
  const { content, problems } = await readiness(context, campaign);
  errors.push(...problems);
  const counted = await countAudience(context, campaign, errors, countForMs);
  const samples = content ? await renderSamples(context, campaign, content, errors) : [];
  errors.push(...plainLinks(samples, context.config.baseUrl));
  const { audience, allowed, blocked } = counted;
  const noOne = "nobody in the audience may be sent to now; see blocked";
  const warnings = [
    ...counted.warnings,
    ...(await gamingTraffic(context, campaign)),
    ...costlyLetters(samples),
    ...(audience > 0 && allowed === 0 ? [noOne] : []),
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

async function countAudience(
  context: Context,
  campaign: Campaign,
  errors: FaultDetail[],
  countForMs: number,
): Promise<Counted> {
  const counted: Counted = { audience: 0, allowed: 0, blocked: {}, warnings: [] };
  if (!hasAudience(campaign) || !sendingChannelOf(campaign.channel)) return counted;
  const startedAt = performance.now();
  for (let cursor: string | null = null; ; ) {
    const page = await pageOf(context, campaign, cursor, errors);
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
  if (counted.audience === 0) errors.push({ field: "segment_id", message: "the audience is empty" });
  return counted;
}

/** A segment that is gone, or rules that do not compile, are an error of the campaign and not of this call. */
async function pageOf(context: Context, campaign: Campaign, cursor: string | null, errors: FaultDetail[]) {
  try {
    return await judgePage(context, campaign, cursor, PAGE);
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    errors.push(...(fault.details ?? [{ field: "segment_id", message: fault.message }]));
    return null;
  }
}

async function renderSamples(
  context: Context,
  campaign: Campaign,
  content: Content,
  errors: FaultDetail[],
): Promise<Sample[]> {
  if (errors.some(({ field }) => field !== "status")) return [];
  const players = await firstAllowed(context, campaign, PLAYER_FIELDS, SAMPLES);
  const link = unsubscribeLinks(context.config)(context.property.id, NO_SEND);
  return players.flatMap((player) => {
    try {
      const recipient = { ...player, send_id: NO_SEND, address: String(player.address) };
      return [{ player_id: String(player.id), ...shown(content.messageTo(recipient, link)) }];
    } catch (error) {
      const { message, details } = toFault(error);
      const field = details?.[0]?.field ?? "body_html";
      errors.push({ field, message: `cannot be rendered for player ${player.player_id}: ${message}` });
      return [];
    }
  });
}

function shown(message: Messages[SendingChannel]): Omit<Sample, "player_id"> {
  const { text } = message;
  if ("title" in message) {
    return { to: message.to, subject: message.title, html: null, text, segments: null, encoding: null };
  }
  const to = maskAddress(message.to);
  if ("subject" in message) {
    return { to, subject: message.subject, html: message.html ?? null, text, segments: null, encoding: null };
  }
  const { count: segments, encoding } = segmentsOf(text);
  return { to, subject: null, html: null, text, segments, encoding };
}
