import { z } from "zod";
import { type FaultDetail, toFault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation.ts";
import { maskAddress } from "#tools/players/address.ts";
import { hasAudience } from "./audience.ts";
import type { Campaign } from "./campaign.ts";
import { type Mail, readiness } from "./content.ts";
import { checkState } from "./move.ts";
import { firstAllowed, judgePage } from "./planning.ts";
import { PLAYER_FIELDS } from "./player-fields.ts";
import { playerVariables } from "./render.ts";
import { firstReason } from "./stats.ts";
import { unsubscribeLinks } from "./unsubscribe.ts";

const PAGE = 50_000;
// A request has five seconds in all.
const COUNT_FOR_MS = 2_500;
const SAMPLES = 3;
const NO_SEND = "00000000-0000-0000-0000-000000000000";

const Problem = z.object({ field: z.string(), message: z.string() });
const Sample = z.object({
  player_id: z.uuid(),
  to: z.string().describe("Masked"),
  subject: z.string(),
  html: z.string().nullable(),
  text: z.string(),
});

export const Preflight = z.object({
  ok: z.boolean().describe("Whether send_campaign would take it now"),
  errors: z.array(Problem),
  warnings: z.array(z.string()),
  audience: z.int(),
  blocked: z.record(z.string(), z.int()).describe("Each blocked player once, under the first reason"),
  allowed: z.int().describe("Players that would be sent to; several with one address get one message"),
  sample_renders: z.array(Sample),
});
export type Preflight = z.output<typeof Preflight>;

/** What sending the campaign now would do. Writes nothing. */
export async function preflight(context: Context, campaign: Campaign): Promise<Preflight> {
  const errors: FaultDetail[] = [...stateProblem(campaign)];
  const { mail, problems } = await readiness(context, campaign);
  errors.push(...problems);
  const counted = await countAudience(context, campaign, errors);
  const samples = mail ? await renderSamples(context, campaign, mail, errors) : [];
  const { audience, allowed, blocked } = counted;
  const noOne = "nobody in the audience may be sent to now; see blocked";
  const warnings = [
    ...counted.warnings,
    ...plainLinks(samples, context.config.baseUrl),
    ...(audience > 0 && allowed === 0 ? [noOne] : []),
  ];
  return { ok: errors.length === 0, errors, warnings, audience, blocked, allowed, sample_renders: samples };
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

async function countAudience(context: Context, campaign: Campaign, errors: FaultDetail[]): Promise<Counted> {
  const counted: Counted = { audience: 0, allowed: 0, blocked: {}, warnings: [] };
  if (!hasAudience(campaign)) return counted;
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
    if (performance.now() - startedAt > COUNT_FOR_MS) {
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

async function renderSamples(context: Context, campaign: Campaign, mail: Mail, errors: FaultDetail[]) {
  if (errors.some(({ field }) => field !== "status")) return [];
  const players = await firstAllowed(context, campaign, PLAYER_FIELDS, SAMPLES);
  const unsubscribe_url = unsubscribeLinks(context.config)(context.property.id, NO_SEND);
  return players.flatMap((player) => {
    try {
      const { html, ...rest } = mail.compiled.render(
        playerVariables(player, mail.property, { unsubscribe_url }),
      );
      const to = maskAddress(String(player.email));
      return [{ player_id: String(player.id), to, html: html ?? null, ...rest }];
    } catch (error) {
      const { message, details } = toFault(error);
      const field = details?.[0]?.field ?? "body_html";
      errors.push({ field, message: `cannot be rendered for player ${player.player_id}: ${message}` });
      return [];
    }
  });
}

/** Our own unsubscribe link is as safe as the address that the service was given. */
function plainLinks(samples: z.output<typeof Sample>[], ours: string): string[] {
  const found = samples.some(({ html }) => /href\s*=\s*["']?http:/i.test((html ?? "").replaceAll(ours, "")));
  return found ? ["a link is not https"] : [];
}
