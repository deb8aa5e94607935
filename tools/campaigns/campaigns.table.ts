import type { Query } from "#db/query/parse.ts";
import type { ReadableTable } from "#db/query/readable-table.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { afterChange, isChecked } from "#runtime/operation/columns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { changedFields } from "#runtime/operation/crud.ts";
import type { Property } from "#runtime/operation/property.ts";
import {
  type Change,
  type NextOf,
  type RowOf,
  type Tenants,
  table,
  type Values,
} from "#runtime/operation/table.ts";
import { refuseCarrying } from "#tools/templates/masked-content.ts";
import { mjmlChange } from "#tools/templates/mjml/render.ts";
import { checkSyntax, parseText } from "#tools/templates/rendering/liquid.ts";
import { lockUses } from "#tools/uses/refuse-used.ts";
import { checkScript } from "#tools/voice/check-script.ts";
import { eventFields, refuseJourneys, templatesOf } from "./campaign/campaign.ts";
import { columns } from "./campaign/columns.ts";
import { checkTicket } from "./campaign/game-ticket.ts";
import cancelSends from "./cancel-sends.job.ts";
import { checkAbTest, checkSameTest } from "./content/variants.ts";
import { audienceSql, checkOneAudience } from "./planning/audience.ts";

type CampaignRow = RowOf<typeof columns>;
type NextCampaign = NextOf<typeof columns>;

export default table({
  name: "campaigns",
  noun: "campaign",
  called: "name",
  description:
    "A campaign is one message to an audience. Content can be edited in draft, scheduled and paused. send_campaign or schedule_campaign sends it. audience_count is 0 until then; preflight_campaign counts before. Lists leave out journeys' messages, unless filtered by journey_id.",
  softDelete: true,
  core: ["list", "create"],
  asks: ["create"],
  shapesMessages: ["update", "delete"],
  columns,
  computed: withoutJourneys,
  beforeWrite,
  afterWrite,
});

/** A list leaves the campaigns of journeys out, unless it asks for them. */
async function withoutJourneys(
  _: Tenants,
  __: Property,
  { where }: Query,
  stored: ReadableTable,
): Promise<ReadableTable | undefined> {
  const asks = where.some((one) => !("logic" in one) && (one.column === "journey_id" || one.column === "id"));
  return asks ? undefined : { ...stored, visible: `${stored.visible} and journey_id is null` };
}

async function beforeWrite(context: Context, change: Change<typeof columns>): Promise<Values> {
  const { verb, current } = change;
  if (current) refuseJourneys(current);
  if (verb === "delete") return beforeDelete(context, current);
  const input = withoutSameTime(change.input, current);
  if (current) checkUnscheduled(input, current);
  if (typeof input.scheduled_at === "string") {
    throw invalid("scheduled_at", "is set by schedule_campaign; here it can only be null");
  }
  checkSyntax(input);
  await refuseCarrying(context, input);
  await checkScript(context, input.voice_script, parseText);
  const next = afterChange(columns, change);
  checkExpiry(next);
  checkOneAudience(next);
  const isOtherChannel = input.channel !== undefined && input.channel !== current?.channel;
  if (input.template_id || input.ab_test || isOtherChannel) await checkTemplates(context, next);
  if (next.ab_test && isChecked(columns, input, "test")) checkAbTest({ ...next, ab_test: next.ab_test });
  if (current?.status === "paused" && "ab_test" in input) checkSameTest(current.ab_test, next.ab_test);
  if (input.provider_id) await checkProvider(context, next);
  if (input.segment_id) await keepSegment(context, input.segment_id);
  if (current && current.status !== "draft") await lockUses(context);
  if (isChecked(columns, input, "audience")) await audienceSql(context, next);
  if (input.game_ticket) await checkTicket(context, next);
  const derived = await mjmlChange(context, { source: "body_mjml", html: "body_html" }, input, current);
  if (!current) return { ...input, ...derived };
  const isUnscheduled = input.scheduled_at === null && current.status === "scheduled";
  const unscheduled = isUnscheduled && { status: "draft", approved: null, approved_state: null };
  return { ...input, ...derived, version: current.version + 1, ...unscheduled };
}

/** The values without the time that the campaign has anyway, so that a record can be sent back whole. */
function withoutSameTime<I extends { scheduled_at?: unknown }>(input: I, current: CampaignRow | null): I {
  if (!current || !("scheduled_at" in input) || input.scheduled_at !== current.scheduled_at) return input;
  const { scheduled_at: _, ...rest } = input;
  return rest as I;
}

function checkUnscheduled(input: object, { status }: CampaignRow): void {
  if (!("scheduled_at" in input) || status === "scheduled" || status === "draft") return;
  throw new Fault("conflict", {
    message: `The campaign is ${status}; only a scheduled one can be unscheduled.`,
  });
}

/** From the first zone's clock to the last one's. */
const HOURS_OF_A_DAY = 26;

function checkExpiry({ send_in_player_timezone: isLocal, expires_after_hours: hours }: NextCampaign): void {
  if (!isLocal || hours === null || hours > HOURS_OF_A_DAY) return;
  throw invalid(
    "expires_after_hours",
    `must be more than ${HOURS_OF_A_DAY} with send_in_player_timezone: the last players' clocks show the hour so much later`,
  );
}

async function checkTemplates({ sql, property }: Tenant, campaign: NextCampaign): Promise<void> {
  const named = templatesOf(campaign);
  if (named.length === 0) return;
  const templates = await sql<{ id: string; channel: string }[]>`
    select id, channel from templates
    where property_id = ${property.id} and id = any(${named.map(({ id }) => id)}::uuid[]) and deleted_at is null for share`;
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

async function checkProvider(
  { sql, property }: Tenant,
  { provider_id, channel }: NextCampaign,
): Promise<void> {
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

/** Its deletion waits for this transaction. Its absence is told where the audience is read. */
async function keepSegment({ sql, property }: Tenant, id: string): Promise<void> {
  await sql`select from segments where property_id = ${property.id} and id = ${id} for key share`;
}

/** A campaign under way must be cancelled before its deletion. A paused or scheduled one is cancelled with it. */
async function beforeDelete({ sql, emit, enqueue }: Context, current: CampaignRow): Promise<Values> {
  const { status } = current;
  if (status === "queued" || status === "sending") {
    throw new Fault("conflict", { message: `The campaign is ${status}; cancel it before deleting it.` });
  }
  if (status !== "paused" && status !== "scheduled") return {};
  enqueue(cancelSends, { campaignId: current.id });
  const [clock] = await sql<{ at: string }[]>`select to_json(now()) #>> '{}' as at`;
  emit("campaign.cancelled", eventFields({ ...current, status: "cancelled", finished_at: clock!.at }));
  return { status: "cancelled", finished_at: "now" };
}

const SWITCHES = {
  ignore_frequency_cap: "frequency rules do not hold it back",
  is_transactional: "frequency rules neither hold it back nor count it",
} as const;

async function afterWrite(
  { emit, ask }: Context,
  { verb, current, row }: Change<typeof columns> & { row: CampaignRow },
): Promise<void> {
  for (const [flag, meaning] of Object.entries(SWITCHES) as [keyof typeof SWITCHES, string][]) {
    if (verb === "delete" || !row[flag] || current?.[flag]) continue;
    const name = JSON.stringify(row.name);
    ask?.({ sentences: () => [`This switches a rule off for the campaign ${name}: ${meaning} (${flag}).`] });
  }
  if (verb === "create") emit("campaign.created", eventFields(row));
  if (verb !== "update") return;
  emit("campaign.updated", eventFields(row), eventFields(changedFields(current, row)));
  if (current.status === "scheduled" && row.status === "draft")
    emit("campaign.unscheduled", eventFields(row));
}
