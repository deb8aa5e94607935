import { z } from "zod";
import { invalid, noSuch } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { type Campaign, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import { hasAudience } from "#tools/campaigns/planning/audience.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { BLOCK_REASONS, type BlockReason, CALL_REASONS, type GatedChannel } from "#tools/compliance/gate.ts";
import { DEFER_REASONS, type DeferReason } from "#tools/compliance/hours.ts";
import { SEND_STATUSES } from "#tools/statuses/sends.ts";
import { type Evidence, type Traced, traceOf } from "./trace.ts";

/** The rules that a campaign adds to the gate's, with their meanings. */
const CAMPAIGN_RULES = {
  holdout: "The address is in the campaign's holdout, which gets nothing, for comparison.",
  not_in_audience: "The player is not in the campaign's audience.",
} as const;

const RULES = { ...BLOCK_REASONS, ...CAMPAIGN_RULES, ...DEFER_REASONS };
type Rule = keyof typeof RULES;
const ASKED = [...CHANNELS, "inbox"] as const;
const RESULTS = ["passes", "blocks", "waits", "drops", "not_applicable"] as const;

const Step = z.object({
  rule: z.enum(Object.keys(RULES) as Rule[]),
  result: z
    .enum(RESULTS)
    .describe(
      "waits: the message is sent later. drops: a message that comes now is not sent, and one that comes later may be; a campaign's message is blocked. not_applicable: the rule is not about this channel or campaign",
    ),
  meaning: z.string().describe("The meaning of the verdict when the rule does not pass"),
  records: z
    .array(
      z.object({
        table: z.string().describe("The table, as in the tools list_… and get_…"),
        id: z.uuid(),
        what: z
          .string()
          .nullable()
          .describe("The deciding part of the record: its reason, list, action or field"),
        since: z
          .union([timestamp(), z.iso.date()])
          .nullable()
          .describe("A date where the record has no time"),
        until: timestamp().nullable(),
      }),
    )
    .describe("The records that block or delay the message; for no_consent also the records that allow it"),
});
type Step = z.output<typeof Step>;

export default tool({
  name: "explain_eligibility",
  title: "Explain whether a player may be contacted",
  description:
    "Explains for one player and channel the verdict of each rule of the compliance gate, with the deciding records: consent, suppressions, do-not-call, self-exclusion, age, status, quiet hours, frequency. With campaignId it adds that campaign's audience and its sends to the player. Every send follows the same rules. To check many addresses use compliance_check.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    playerId: z.uuid().describe("From list_players"),
    channel: z.enum(ASKED).describe("The channel of the message"),
    campaignId: z.uuid().optional().describe("From list_campaigns: one of this channel"),
    at: timestamp().optional().describe("Evaluate for this time instead of now"),
  },
  output: z.object({
    player_id: z.uuid(),
    channel: z.enum(ASKED),
    allowed: z.boolean().describe("No rule blocks; one may still make the message wait"),
    reasons: z.array(z.string()).describe("The rules that block"),
    defer: z
      .object({
        reasons: z.array(z.string()),
        retry_at: timestamp().nullable(),
        dropped: z.literal(true).optional().describe("The message is dropped, and does not wait"),
      })
      .optional()
      .describe("Only when the message would wait or be dropped: why, and until when"),
    rules: z.array(Step).describe("Every rule, by name"),
    send: z
      .object({
        id: z.uuid(),
        status: z.enum(SEND_STATUSES),
        skip_reasons: z.array(z.string()),
        error_code: z.string().nullable(),
      })
      .nullable()
      .describe("The campaign's existing send to the player: see get_campaign_send"),
    checked_at: timestamp(),
  }),
  faults: ["invalid", "not_found"],
  async handler(context, { playerId, channel, campaignId, at }) {
    const campaign = campaignId === undefined ? null : await findCampaign(context, campaignId);
    if (campaign) checkChannel(campaign, channel);
    const isUncapped = channel === "inbox" || campaign?.is_transactional || campaign?.ignore_frequency_cap;
    const options = { channel, campaign, isUncapped: isUncapped === true, at };
    const traced = await traceOf(context, playerId, options);
    if (!traced) throw noSuch("player", playerId);
    const answers = {
      ...gateAnswers(traced),
      ...campaignAnswers(traced, campaign),
      ...waitAnswers(traced, options),
    };
    const meanings: Record<Rule, string> = channel === "voice" ? { ...RULES, ...CALL_REASONS } : RULES;
    const rules = (Object.keys(RULES) as Rule[])
      .sort()
      .map((rule): Step => ({ rule, meaning: meanings[rule], ...answers[rule] }));
    const named = (result: Step["result"]) =>
      rules.flatMap((step) => (step.result === result ? [step.rule] : []));
    const [reasons, drops] = [named("blocks"), named("drops")];
    const delays = [...named("waits"), ...drops].sort();
    return {
      player_id: playerId,
      channel,
      allowed: reasons.length === 0,
      reasons,
      ...(delays.length > 0 && {
        defer: {
          reasons: delays,
          retry_at: traced.retry_at,
          ...(drops.length > 0 && { dropped: true as const }),
        },
      }),
      rules,
      send: traced.send,
      checked_at: traced.checked_at,
    };
  },
});

function checkChannel(campaign: Campaign, channel: GatedChannel): void {
  const own = campaign.channel === "loyaltyvip" ? "inbox" : campaign.channel;
  if (own !== channel) throw invalid("channel", `is ${channel}, and the campaign's is ${own}`);
}

type Answer = Pick<Step, "result" | "records">;
const answer = (result: Step["result"], records: Evidence[] = []): Answer => ({ result, records });
const NOT_APPLICABLE = answer("not_applicable");

function gateAnswers({ reasons, decided, consent }: Traced): Record<BlockReason, Answer> {
  const answerOf = (rule: BlockReason): Answer => {
    const found = decided[rule];
    if (!found) return NOT_APPLICABLE;
    const isConsent = consent !== null && (rule === "no_consent" || rule === "consent_expired");
    // The player's record holds the last statement of the ledger, so the player's record decided.
    const records = isConsent ? [consent] : [...new Map(found.map((one) => [one.id, one])).values()];
    if (reasons.includes(rule)) return answer("blocks", records);
    return answer("passes", isConsent && rule === "no_consent" ? records : []);
  };
  const rules = Object.keys(BLOCK_REASONS) as BlockReason[];
  return Object.fromEntries(rules.map((rule) => [rule, answerOf(rule)])) as Record<BlockReason, Answer>;
}

function campaignAnswers(
  { in_audience, held_out }: Traced,
  campaign: Campaign | null,
): Record<keyof typeof CAMPAIGN_RULES, Answer> {
  if (!campaign) return { holdout: NOT_APPLICABLE, not_in_audience: NOT_APPLICABLE };
  const record = (what: string) => [{ table: "campaigns", id: campaign.id, what, since: null, until: null }];
  const isMeant = in_audience && hasAudience(campaign);
  return {
    holdout: held_out ? answer("blocks", record("holdout_percent")) : answer("passes"),
    not_in_audience: isMeant ? answer("passes") : answer("blocks", record("audience")),
  };
}

function waitAnswers(
  { is_open, skips, closing, capping }: Traced,
  { isUncapped, campaign }: { isUncapped: boolean; campaign: Campaign | null },
): Record<DeferReason, Answer> {
  const capped = capping.length > 0 ? answer("waits", capping) : answer("passes");
  const dropped = campaign ? "blocks" : "drops";
  return {
    frequency_capped: isUncapped && capping.length === 0 ? NOT_APPLICABLE : capped,
    quiet_hours: is_open ? answer("passes") : answer(skips ? dropped : "waits", closing),
  };
}
