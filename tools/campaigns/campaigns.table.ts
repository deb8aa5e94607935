import { z } from "zod";
import { pastTime, readable, timestamp, viewOf, writable } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { changedFields } from "#runtime/crud.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { type Change, type Row, table } from "#runtime/operation.ts";
import { Condition } from "#tools/segments/conditions.ts";
import { mjmlChange } from "#tools/templates/mjml.ts";
import { Utm } from "#tools/tracking/utm.ts";
import { AbResult, AbTest, checkAbTest, checkSameTest, TESTED, templatesOf } from "./ab-test.ts";
import { audienceSql, checkOneAudience } from "./audience.ts";
import { type Campaign, CHANNELS, STATUSES, thin } from "./campaign.ts";
import cancelSends from "./cancel-sends.job.ts";
import { checkSyntax } from "./content.ts";
import { Goal } from "./goal.ts";

const line = (most: number) => z.string().trim().min(1).max(most).nullable().optional();
const body = () => z.string().min(1).max(500_000).nullable().optional();

const campaigns = table({
  name: "campaigns",
  noun: "campaign",
  description:
    "A campaign is one message to an audience: a segment, conditions, or all players said in words. Content can be edited in draft, scheduled and paused. It is sent by send_campaign or schedule_campaign.",
  softDelete: true,
  core: ["list", "create"],
  concise: [
    "name",
    "channel",
    "status",
    "status_reason",
    "subject",
    "template_id",
    "segment_id",
    "audience",
    "scheduled_at",
    "audience_count",
    "version",
    "started_at",
    "finished_at",
    "archived_at",
    "created_at",
  ],
  columns: {
    name: writable(z.string().trim().min(1).max(200)),
    channel: writable(z.enum(CHANNELS).default("email")),
    status: readable(z.enum(STATUSES)),
    status_reason: readable(z.string().nullable()),
    template_id: writable(z.uuid().nullable().optional().describe("From list_templates")),
    subject: writable(line(500).describe("Liquid. Goes before the template's")),
    preheader: writable(line(500).describe("Liquid. The teaser that mail clients show")),
    from_name: writable(line(200).describe("Default: the property's")),
    from_email: writable(z.email().nullable().optional().describe("Default: the property's")),
    reply_to: writable(z.email().nullable().optional().describe("Default: the sender")),
    provider_id: writable(
      z.uuid().nullable().optional().describe("From list_message_providers. Default: the property's choice"),
    ),
    body_html: writable(body().describe("Liquid. Goes before the template's bodies")),
    body_mjml: writable(
      body().describe("MJML with Liquid in it, in place of body_html, which is then made of it"),
    ),
    body_text: writable(body().describe("Liquid. Made from the HTML when left out")),
    segment_id: writable(z.uuid().nullable().optional().describe("From list_segments")),
    exclude_segment_ids: writable(
      z
        .array(z.uuid())
        .max(50)
        .default([])
        .describe("Segments whose players are left out, from list_segments"),
    ),
    audience: writable(z.enum(["all"]).nullable().optional().describe("Every player of the property")),
    conditions: writable(
      z
        .array(Condition)
        .max(200)
        .nullable()
        .optional()
        .describe("Rule rows in place of a segment; joined by logic"),
    ),
    logic: writable(z.enum(["and", "or"]).default("and").describe("How the conditions join")),
    scheduled_at: writable(
      timestamp()
        .nullable()
        .optional()
        .describe("Set by schedule_campaign; null takes the campaign back to draft"),
    ),
    send_in_player_timezone: writable(
      z
        .boolean()
        .default(false)
        .describe(
          "Each player gets it when their own clock shows what the property's shows at scheduled_at; where that has passed, at once",
        ),
    ),
    throttle_per_minute: writable(
      z
        .int()
        .min(1)
        .max(1_000_000)
        .nullable()
        .optional()
        .describe("Messages a minute at the most. What is not handed over in 72 hours expires"),
    ),
    max_send_errors: writable(
      z
        .int()
        .min(1)
        .max(1_000_000)
        .default(1000)
        .describe("More messages in a row than this that fail pause it"),
    ),
    ignore_frequency_cap: writable(
      z.boolean().default(false).describe("Goes out whatever the frequency rules say, and counts for others"),
    ),
    is_transactional: writable(
      z.boolean().default(false).describe("Exempt from frequency rules, and not counted by them"),
    ),
    holdout_percent: writable(
      z
        .int()
        .min(0)
        .max(100)
        .default(0)
        .describe("Of those who could be sent to, the share that gets nothing, by chance of their address"),
    ),
    priority: writable(
      z
        .int()
        .min(-1000)
        .max(1000)
        .default(0)
        .describe("Of those that send at once by one channel, the higher goes first"),
    ),
    tags: writable(
      z
        .array(z.string().trim().min(1).max(100))
        .max(50)
        .default([])
        .describe("Labels; frequency caps may count by them"),
    ),
    utm: writable(
      Utm.nullable()
        .optional()
        .describe(
          "Added to every link of the HTML: source becomes utm_source. What a link says itself stays",
        ),
    ),
    goal: writable(Goal.nullable().optional().describe("Recipients who reach it are counted as converted")),
    ab_test: writable(
      AbTest.nullable()
        .optional()
        .describe("Variants tried on a share of the audience; the rest gets the one that did best"),
    ),
    ab_ends_at: readable(timestamp().nullable().describe("When the winner of the test is chosen")),
    ab_result: readable(AbResult.nullable()),
    stats: readable(
      z.record(z.string(), z.unknown()).describe("What campaign_stats counted last; {} until then"),
    ),
    audience_count: readable(z.int().describe("Recipients planned so far, the skipped included")),
    version: readable(z.int()),
    started_at: readable(timestamp().nullable()),
    finished_at: readable(timestamp().nullable()),
    archived_at: writable(
      pastTime()
        .nullish()
        .describe("A time puts the campaign away, null brings it back. Nothing else changes"),
    ),
  },
  beforeWrite,
  afterWrite,
});
export default campaigns;

/** A campaign as operations answer it. */
export const CampaignView = viewOf(campaigns);

const AUDIENCE = ["segment_id", "exclude_segment_ids", "audience", "conditions", "logic", "channel"];
const CONTENT = [
  "template_id",
  "subject",
  "preheader",
  "from_name",
  "from_email",
  "reply_to",
  "provider_id",
  "body_html",
];
const EDITABLE: Record<string, readonly string[]> = {
  ...Object.fromEntries(
    [...CONTENT, "body_mjml", "body_text", "is_transactional", "utm", "ab_test"].map((name) => [
      name,
      ["draft", "scheduled", "paused"],
    ]),
  ),
  archived_at: ["draft", "sent", "cancelled", "failed"],
  // It decides when a scheduled campaign starts.
  send_in_player_timezone: ["draft"],
  // Once recipients are planned, another audience would reach nobody.
  ...Object.fromEntries([...AUDIENCE, "holdout_percent"].map((name) => [name, ["draft", "scheduled"]])),
};
const DEFAULTS = {
  segment_id: null,
  exclude_segment_ids: [],
  audience: null,
  conditions: null,
  logic: "and",
  template_id: null,
  ab_test: null,
};

async function beforeWrite(
  context: Context,
  { verb, input, current }: Change,
): Promise<Record<string, unknown>> {
  if (verb === "delete") return beforeDelete(context, current!);
  if (current) checkEditable(input, current);
  if (typeof input.scheduled_at === "string") {
    throw invalid("scheduled_at", "is set by schedule_campaign; here it can only be null");
  }
  checkSyntax(input);
  const next = { ...DEFAULTS, ...current, ...input } as unknown as Campaign;
  checkOneAudience(next);
  if (AUDIENCE.some((name) => name in input)) await audienceSql(context, next, 0);
  const isOther = input.channel !== undefined && input.channel !== current?.channel;
  if (input.template_id || input.ab_test || isOther) await checkTemplates(context, next);
  if (next.ab_test && TESTED.some((name) => name in input)) checkAbTest({ ...next, ab_test: next.ab_test });
  if (current?.status === "paused" && "ab_test" in input) checkSameTest(current, next.ab_test);
  if (input.provider_id) await checkProvider(context, next);
  const made = await mjmlChange(context, { source: "body_mjml", html: "body_html" }, input, current);
  if (!current) return { ...input, ...made };
  const back = input.scheduled_at === null && current.status === "scheduled";
  return { ...input, ...made, version: Number(current.version) + 1, ...(back && { status: "draft" }) };
}

function checkEditable(input: Record<string, unknown>, current: Row): void {
  const status = String(current.status);
  for (const name of Object.keys(input)) {
    const states = EDITABLE[name] ?? [status];
    if (states.includes(status)) continue;
    throw new Fault("conflict", {
      message: `The campaign is ${status}; ${name} can be changed while it is ${states.join(" or ")}.`,
    });
  }
  if ("scheduled_at" in input && status !== "scheduled" && status !== "draft") {
    throw new Fault("conflict", {
      message: `The campaign is ${status}; only a scheduled one can be unscheduled.`,
    });
  }
}

async function checkTemplates({ sql, property }: Context, campaign: Campaign): Promise<void> {
  const named = templatesOf(campaign);
  if (named.length === 0) return;
  const templates = await sql<{ id: string; channel: string }[]>`
    select id, channel from templates
    where property_id = ${property.id} and id in ${sql(named.map(({ id }) => id))} and deleted_at is null for share`;
  for (const { field, id } of named) {
    const template = templates.find((one) => one.id === id);
    if (!template) {
      throw new Fault("not_found", { message: `${field}: no template ${id} in this property.` });
    }
    if (template.channel === campaign.channel) continue;
    throw invalid(
      field,
      `is a template for ${template.channel}, and the campaign's channel is ${campaign.channel}`,
    );
  }
}

async function checkProvider({ sql, property }: Context, { provider_id, channel }: Campaign): Promise<void> {
  const [provider] = await sql<{ channel: string }[]>`
    select channel from message_providers
    where property_id = ${property.id} and id = ${provider_id} and deleted_at is null for key share`;
  if (!provider) {
    throw new Fault("not_found", { message: `provider_id: no provider ${provider_id} in this property.` });
  }
  if (provider.channel !== channel) {
    throw invalid("provider_id", `sends ${provider.channel}, and the campaign's channel is ${channel}`);
  }
}

/** What waits to be sent must be stopped in words first; what only could be sent is cancelled with it. */
async function beforeDelete({ sql, emit, enqueue }: Context, current: Row): Promise<Record<string, unknown>> {
  const status = String(current.status);
  if (status === "queued" || status === "sending") {
    throw new Fault("conflict", { message: `The campaign is ${status}; cancel it before deleting it.` });
  }
  if (status !== "paused" && status !== "scheduled") return {};
  enqueue(cancelSends, { campaignId: current.id });
  const [clock] = await sql<{ at: string }[]>`select to_json(now()) #>> '{}' as at`;
  emit("campaign.cancelled", thin({ ...current, status: "cancelled", finished_at: clock!.at }));
  return { status: "cancelled", finished_at: "now" };
}

async function afterWrite({ emit }: Context, { verb, current, row }: Change & { row: Row }): Promise<void> {
  if (verb === "create") emit("campaign.created", thin(row));
  if (verb !== "update" || !current) return;
  emit("campaign.updated", thin(row), thin(changedFields(current, row)));
  if (current.status === "scheduled" && row.status === "draft") emit("campaign.unscheduled", thin(row));
}
