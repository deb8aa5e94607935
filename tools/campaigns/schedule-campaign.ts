import { z } from "zod";
import { timestamp } from "#runtime/columns.ts";
import type { Context } from "#runtime/context.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { tool } from "#runtime/operation.ts";
import { audienceSql } from "./audience.ts";
import { CampaignView } from "./campaigns.table.ts";
import { CONFIRMED_DEADLINE_MS, checkConfirmed, stateOf } from "./confirming.ts";
import fireCampaign from "./fire-campaign.job.ts";
import { lockFor, move } from "./move.ts";
import { obstacles } from "./obstacles.ts";
import { Preflight, preflight } from "./preflight.ts";

const SCHEDULED_CHANNELS = ["email", "loyaltyvip", "inbox"];

export default tool({
  name: "schedule_campaign",
  title: "Schedule a campaign",
  description:
    "Schedules an email or loyaltyvip campaign for a future time against a saved segment, in place of any audience it had. The segment is evaluated again when the time comes, and every recipient passes the full check. A scheduled campaign can be scheduled anew.",
  scope: "write",
  effect: "contact",
  core: true,
  property: "property_id",
  confirmedBy: "preflight_campaign",
  deadline: CONFIRMED_DEADLINE_MS,
  input: {
    campaign_id: z.uuid().describe("From list_campaigns"),
    scheduled_at: timestamp().describe("In the future, with an offset, such as 2027-01-31T18:00:00-05:00"),
    segment_id: z.uuid().describe("From list_segments"),
    property_id: z.uuid().optional().describe("The campaign's property, where the credential has several"),
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    campaign: CampaignView,
    warnings: z.array(z.string()).describe("What would make it fail when the time comes, as it is now"),
    preflight: Preflight.optional().describe("Of a dry run: as if it were sent now"),
  }),
  faults: ["invalid", "not_found", "conflict", "wrong_property"],
  async handler(context, { campaign_id, scheduled_at, segment_id, dry_run }) {
    const campaign = await lockFor(context, campaign_id, "schedule");
    if (!SCHEDULED_CHANNELS.includes(campaign.channel)) {
      throw invalid("channel", `is ${campaign.channel}; email and loyaltyvip campaigns can be scheduled`);
    }
    await checkFuture(context, scheduled_at);
    await checkSegment(context, segment_id);
    const target = { segment_id, audience: null, conditions: null };
    const wanted = { ...campaign, ...target };
    await audienceSql(context, wanted, 0);
    await checkConfirmed(context, () => stateOf(context, wanted));
    const fires_at = campaign.send_in_player_timezone ? await firstLocalTime(context, scheduled_at) : null;
    const row = await move(context, campaign_id, "schedule", { ...target, scheduled_at, fires_at });
    context.enqueue(fireCampaign, { campaignId: campaign_id }, { runAt: fires_at ?? scheduled_at });
    const { problems } = await obstacles(context, wanted);
    if (dry_run) context.bind?.(await stateOf(context, wanted));
    return {
      success: true as const,
      campaign: row,
      warnings: problems.map(({ field, message }) => `${field}: ${message}`),
      ...(dry_run && { preflight: await preflight(context, wanted) }),
    };
  },
});

/** By the database's clock, which fires it too. */
async function checkFuture({ sql }: Context, time: string): Promise<void> {
  const [row] = await sql<{ future: boolean }[]>`select ${time}::timestamptz > clock_timestamp() as future`;
  if (!row?.future) throw invalid("scheduled_at", `must be in the future, and ${time} has passed`);
}

/** When the first of the property's players has the time that the property has at `time`; now, if that has passed. */
async function firstLocalTime({ sql, property }: Context, time: string): Promise<string> {
  const [row] = await sql<{ first: string }[]>`
    with wall as materialized (select ${time}::timestamptz at time zone ${property.timezone} as clock)
    select to_json(greatest(clock_timestamp(), least(${time}::timestamptz, (
      select min(wall.clock at time zone known_zone(z.zone, ${property.timezone}))
      from (
        select distinct unnest(zones) as zone from (
          select distinct zones from players where property_id = ${property.id} and deleted_at is null) s
      ) z, wall)))) #>> '{}' as first`;
  return row!.first;
}

async function checkSegment({ sql, property }: Context, id: string): Promise<void> {
  const [segment] = await sql`
    select 1 from segments where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  if (!segment) throw new Fault("not_found", { message: `No segment with the id ${id} in this property.` });
}
