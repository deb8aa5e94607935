import { z } from "zod";
import {
  internal,
  pastTime,
  readable,
  timestamp,
  type WriteRules,
  writable,
} from "#runtime/operation/columns.ts";
import { Approval, Prints } from "#tools/approvals/approval.ts";
import { QUIET_ACTIONS } from "#tools/compliance/quiet-hours-rules.table.ts";
import { InboxParts } from "#tools/inbox/parts.ts";
import { Condition } from "#tools/segments/rules/compile.ts";
import { CAMPAIGN_STATUSES, type CampaignStatus } from "#tools/statuses/campaigns.ts";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import { Utm } from "#tools/tracking/utm.ts";
import { VoiceScript } from "#tools/voice/script.ts";
import { AbResult, AbTest } from "./ab-test.ts";
import { GameTicket } from "./game-ticket.ts";

/** The purpose of a campaign. */
const Goal = z.strictObject({
  event: z.string().trim().min(1).max(100).describe("The name of a player event, such as deposit"),
  window_hours: z.int().min(1).max(720).default(72).describe("How long after the message the event counts"),
});
export type Goal = z.output<typeof Goal>;

const line = (most: number) => z.string().trim().min(1).max(most).nullable().optional();

/** Once recipients are planned, another audience would reach nobody. */
const BEFORE_PLANNING = ["draft", "scheduled"] as const satisfies CampaignStatus[];
const BETWEEN_MESSAGES = ["draft", "scheduled", "paused"] as const satisfies CampaignStatus[];

/** No message goes out later after its campaign's start. */
export const EXPIRES_AFTER_HOURS = 72;

/** The message. */
const content = <S extends z.ZodType>(schema: S, rules?: WriteRules) =>
  writable(schema, { while: BETWEEN_MESSAGES, copied: true, ...rules });
/** A body of the message. */
const body = (meaning: string) =>
  content(z.string().min(1).max(500_000).nullable().optional().describe(meaning), {
    checks: ["test"],
    omitFromEvents: true,
  });
/** The recipients. */
const audience = <S extends z.ZodType>(schema: S, rules?: WriteRules) =>
  writable(schema, { while: BEFORE_PLANNING, copied: true, checks: ["audience"], ...rules });
/** How the campaign is sent. It can change at any time. */
const setting = <S extends z.ZodType>(schema: S, rules?: WriteRules) =>
  writable(schema, { copied: true, ...rules });

/** The columns of a campaign, in the order of answers. */
export const columns = {
  name: writable(z.string().trim().min(1).max(200).describe("For the staff; players do not see it"), {
    concise: true,
  }),
  channel: audience(z.enum(MESSAGE_CHANNELS).default("email").describe("loyaltyvip is the inbox"), {
    concise: true,
    checks: ["audience", "test"],
  }),
  status: readable(z.enum(CAMPAIGN_STATUSES), { concise: true }),
  status_reason: readable(z.string().nullable(), { concise: true }),
  template_id: content(z.uuid().nullable().optional().describe("From list_templates"), { concise: true }),
  subject: content(line(500).describe("Liquid. Replaces the template's"), { concise: true }),
  preheader: content(line(500).describe("Liquid. The teaser that mail clients show")),
  from_name: content(line(200).describe("Default: the property's")),
  from_email: content(z.email().nullable().optional().describe("Default: the property's")),
  reply_to: content(z.email().nullable().optional().describe("Default: the sender")),
  provider_id: content(
    z.uuid().nullable().optional().describe("From list_message_providers. Default: the property's choice"),
  ),
  body_html: body("Liquid. Goes before the template's bodies"),
  body_mjml: body("MJML with Liquid; body_html is made of it"),
  body_text: body("Liquid. Made from the HTML when left out"),
  segment_id: audience(z.uuid().nullable().optional().describe("From list_segments"), { concise: true }),
  exclude_segment_ids: audience(
    z.array(z.uuid()).max(50).default([]).describe("Segments whose players get nothing, from list_segments"),
  ),
  audience: audience(z.enum(["all"]).nullable().optional().describe("Every player of the property"), {
    concise: true,
  }),
  conditions: audience(
    z
      .array(Condition)
      .max(200)
      .nullable()
      .optional()
      .describe("Rule rows in place of a segment; joined by logic"),
  ),
  logic: audience(z.enum(["and", "or"]).default("and").describe("How the conditions join")),
  scheduled_at: writable(
    timestamp()
      .nullable()
      .optional()
      .describe("Set by schedule_campaign; null takes the campaign back to draft"),
    { concise: true },
  ),
  send_in_player_timezone: writable(
    z
      .boolean()
      .default(false)
      .describe(
        "Each player gets it when their own clock shows the hour of scheduled_at, or at once if it has passed",
      ),
    { while: ["draft"], copied: true, checks: ["test"] },
  ),
  throttle_per_minute: setting(
    z.int().min(1).max(1_000_000).nullable().optional().describe("Messages a minute at the most"),
  ),
  expires_after_hours: setting(
    z
      .int()
      .min(1)
      .max(EXPIRES_AFTER_HOURS)
      .default(EXPIRES_AFTER_HOURS)
      .describe("Messages that still wait then expire"),
  ),
  max_send_errors: setting(
    z.int().min(1).max(1_000_000).default(1000).describe("More failures in a row pause the campaign"),
  ),
  ignore_frequency_cap: setting(
    z.boolean().default(false).describe("Frequency rules do not hold it back, though it counts for others"),
  ),
  is_transactional: content(
    z.boolean().default(false).describe("Exempt from frequency rules, and not counted by them"),
  ),
  holdout_percent: writable(
    z.int().min(0).max(100).default(0).describe("Percentage of the sendable players that gets nothing"),
    { while: BEFORE_PLANNING, copied: true },
  ),
  priority: setting(
    z.int().min(-1000).max(1000).default(0).describe("Of campaigns that send at once, the higher goes first"),
  ),
  tags: setting(
    z
      .array(z.string().trim().min(1).max(100))
      .max(50)
      .default([])
      .describe("Labels; frequency caps may count by them"),
    { vocabulary: true },
  ),
  utm: content(
    Utm.nullable()
      .optional()
      .describe("Added to every link of the HTML, as utm_source and so on, where it is not there already"),
  ),
  inbox: content(
    z
      .record(z.string(), z.unknown())
      .pipe(InboxParts)
      .nullable()
      .optional()
      .describe("Of inbox and push; see docs://guides/inbox"),
  ),
  game_ticket: content(
    GameTicket.nullable()
      .optional()
      .describe("A ticket for a game: the recipient gets it by opening {{ game_url }} of the message"),
  ),
  voice_script: content(
    z.record(z.string(), z.unknown()).pipe(VoiceScript).nullable().optional().describe("See schema://voice"),
  ),
  goal: setting(Goal.nullable().optional().describe("Recipients who reach it are counted as converted"), {
    checks: ["test"],
  }),
  ab_test: content(
    AbTest.nullable()
      .optional()
      .describe("Variants tried on a share of the audience; the rest gets the best one"),
    { checks: ["test"] },
  ),
  ab_ends_at: readable(timestamp().nullable().describe("When the winner of the test is chosen")),
  ab_result: readable(AbResult.nullable()),
  stats: readable(
    z.record(z.string(), z.unknown()).describe("The last count of campaign_stats; {} before the first"),
    { omitFromEvents: true },
  ),
  audience_count: readable(
    z
      .int()
      .describe(
        "Recipients planned so far, the skipped included: 0 until the campaign starts, and its job plan_campaign fills it. preflight_campaign counts before",
      ),
    {
      concise: true,
    },
  ),
  version: readable(z.int(), { concise: true }),
  started_at: readable(timestamp().nullable(), { concise: true }),
  finished_at: readable(timestamp().nullable(), { concise: true }),
  archived_at: writable(
    pastTime().nullish().describe("A time archives the campaign, null restores it. Nothing else changes"),
    { concise: true, while: ["draft", "sent", "cancelled", "failed"] },
  ),
  journey_id: readable(
    z
      .uuid()
      .nullable()
      .describe("The journey whose messages these are: its node sends them, and it has no end of its own"),
  ),
  journey_node: readable(z.string().nullable(), { vocabulary: true }),
  /** Of a journey's messages: closed hours defer them, as the rules say, or drop them in any case. */
  quiet_hours: internal(z.enum(QUIET_ACTIONS)),
  approved: readable(
    Approval.nullable().describe("The state that was approved last; a campaign that differs from it pauses"),
    { omitFromEvents: true },
  ),
  approved_state: internal(Prints.nullable()),
  /** The start. It is before scheduled_at where some players' clocks show that time earlier. */
  fires_at: internal(timestamp().nullable()),
  /** The last planned player: planning continues from there after a crash. */
  plan_cursor: internal(z.uuid().nullable()),
  planned_at: internal(timestamp().nullable()),
};
