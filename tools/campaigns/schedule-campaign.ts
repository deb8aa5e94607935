import { z } from "zod";
import { assignments } from "#db/sql.ts";
import { invalid, one } from "#runtime/faults.ts";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { approving, CONFIRMED_DEADLINE_MS, presentState, stateOf } from "./approval/approve.ts";
import { sendingWords } from "./approval/words.ts";
import { CampaignView, findCampaign } from "./campaign/campaign.ts";
import { changeStatus, lockFor } from "./campaign/states.ts";
import fireCampaign from "./fire-campaign.job.ts";
import { audienceSql } from "./planning/audience.ts";
import { Preflight, preflight } from "./preflight/preflight.ts";
import { checkReadiness } from "./preflight/readiness.ts";

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
  // The preview of a send shows no time: its token is answered with a preview of its own.
  confirmedBy: "preflight_campaign",
  deadline: CONFIRMED_DEADLINE_MS,
  input: {
    campaign_id: z.uuid().describe("From list_campaigns"),
    scheduled_at: timestamp().describe("In the future, with an offset, such as 2027-01-31T18:00:00-05:00"),
    segment_id: z.uuid().describe("From list_segments"),
    property_id: z.uuid().optional().describe("The campaign's property, if the credential has several"),
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    campaign: CampaignView,
    warnings: z.array(z.string()).describe("Present problems that would make the scheduled campaign fail"),
    preflight: Preflight.optional().describe("Of a dry run: as if it were sent now"),
  }),
  faults: ["invalid", "not_found", "conflict", "wrong_property"],
  async handler(context, { campaign_id, scheduled_at, segment_id, dry_run }) {
    const { sql, property } = context;
    const campaign = await lockFor(context, campaign_id, "schedule");
    if (!SCHEDULED_CHANNELS.includes(campaign.channel)) {
      throw invalid("channel", `is ${campaign.channel}; email and loyaltyvip campaigns can be scheduled`);
    }
    await checkFuture(context, scheduled_at);
    await checkSegment(context, segment_id);
    const target = { segment_id, audience: null, conditions: null };
    const scheduled = { ...campaign, ...target };
    await audienceSql(context, scheduled);
    const fires_at = campaign.send_in_player_timezone ? await firstLocalTime(context, scheduled_at) : null;
    const times = { ...target, scheduled_at, fires_at };
    await sql`
      update campaigns set ${assignments(times)} where property_id = ${property.id} and id = ${campaign_id}`;
    const timed = await findCampaign(context, campaign_id);
    const present = await presentState(context, timed);
    const checked = dry_run ? await preflight(context, scheduled) : undefined;
    context.ask?.({
      state: stateOf(timed, present),
      sentences: async () => sendingWords(context, timed, checked ?? (await preflight(context, scheduled))),
    });
    const row = await changeStatus(context, campaign_id, "schedule", approving(context, timed, present));
    context.enqueue(fireCampaign, { campaignId: campaign_id }, { runAt: fires_at ?? scheduled_at });
    const { problems } = await checkReadiness(context, scheduled);
    return {
      success: true as const,
      campaign: row,
      warnings: problems.map(({ field, message }) => `${field}: ${message}`),
      ...(checked && { preflight: checked }),
    };
  },
});

/** By the database's clock, which starts the campaign too. */
async function checkFuture({ sql }: Tenant, time: string): Promise<void> {
  const [row] = await sql<{ future: boolean }[]>`select ${time}::timestamptz > clock_timestamp() as future`;
  if (!row?.future) throw invalid("scheduled_at", `must be in the future, and ${time} has passed`);
}

/** The first moment at which a player's clock shows the property's `time`; now, if that has passed. */
async function firstLocalTime({ sql, property }: Tenant, time: string): Promise<string> {
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

async function checkSegment({ sql, property }: Tenant, id: string): Promise<void> {
  const segments = await sql`
    select 1 from segments where property_id = ${property.id} and id = ${id} and deleted_at is null`;
  one(segments, "segment", id);
}
