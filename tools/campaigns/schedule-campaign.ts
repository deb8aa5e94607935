import { z } from "zod";
import { assignments, type Fragment } from "#db/sql.ts";
import { readTime } from "#db/time.ts";
import { invalid, one } from "#runtime/faults.ts";
import { localTime } from "#runtime/operation/columns.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { fingerprintInput } from "#tools/approvals/approval.ts";
import { lockUses } from "#tools/uses/refuse-used.ts";
import { approving, askAbout, CONFIRMED_DEADLINE_MS, presentState } from "./approval/approve.ts";
import { sendingWords } from "./approval/words.ts";
import { type Campaign, CampaignView, changeStatus, findCampaign, lockFor } from "./campaign/campaign.ts";
import fireCampaign from "./fire-campaign.job.ts";
import { audienceSql, hasAudience } from "./planning/audience.ts";
import { Preflight, preflight } from "./preflight/preflight.ts";
import { checkReadiness, notReady } from "./preflight/readiness.ts";

export default tool({
  name: "schedule_campaign",
  title: "Schedule a campaign",
  description:
    "Schedules a campaign against a saved segment or its own audience. The audience is evaluated again when the time comes, and every recipient passes the full check. A scheduled campaign can be scheduled anew.",
  scope: "write",
  effect: "contact",
  core: true,
  property: "property_id",
  // The preview of a send shows no time: its token is answered with a preview of its own.
  confirmedBy: "preflight_campaign",
  heavy: true,
  deadline: CONFIRMED_DEADLINE_MS,
  input: {
    campaign_id: z.uuid().describe("From list_campaigns"),
    scheduled_at: localTime().describe(
      "In the future, such as 2027-01-31T18:00:00-05:00; without an offset by the property's own clock",
    ),
    segment_id: z.uuid().nullable().describe("From list_segments, or null for the campaign's own audience"),
    property_id: z.uuid().optional().describe("The campaign's property, if the credential has several"),
    fingerprint: fingerprintInput,
    dry_run: z.boolean().default(false).describe("Only check, and answer what would happen"),
  },
  output: z.object({
    success: z.literal(true),
    campaign: CampaignView,
    warnings: z.array(z.string()).describe("Present problems that would make the scheduled campaign fail"),
    preflight: Preflight.optional().describe("Of a dry run: as if it were sent now"),
  }),
  faults: ["invalid", "not_found", "conflict", "wrong_property"],
  async handler(context, { campaign_id, scheduled_at: written, segment_id, fingerprint, dry_run }) {
    const { sql, property } = context;
    const scheduled_at = await instantOf(context, written);
    const campaign = await lockFor(context, campaign_id, "schedule");
    await checkFuture(context, scheduled_at);
    const target = await targetOf(context, campaign, segment_id);
    await lockUses(context);
    const scheduled = { ...campaign, ...target };
    const audience = await audienceSql(context, scheduled);
    const fires_at = campaign.send_in_player_timezone
      ? await firstLocalTime(context, scheduled_at, audience)
      : null;
    const times = { ...target, scheduled_at, fires_at };
    await sql`
      update campaigns set ${assignments(times)} where property_id = ${property.id} and id = ${campaign_id}`;
    const timed = await findCampaign(context, campaign_id);
    const now = await presentState(context, timed, fingerprint);
    const { problems } = await checkReadiness(context, scheduled);
    // Nobody is shown, or has checked, a campaign for their approval that would fail at its hour.
    const isShown = context.call.transport === "mcp" || fingerprint !== undefined;
    if (isShown && problems.length > 0) throw notReady(problems);
    const checked = dry_run ? await preflight(context, scheduled) : undefined;
    const sentences = async () =>
      sendingWords(context, timed, checked ?? (await preflight(context, scheduled)));
    const present = askAbout(context, timed, now, { sentences });
    const row = await changeStatus(context, campaign_id, "schedule", approving(context, timed, present));
    context.enqueue(fireCampaign, { campaignId: campaign_id }, { runAt: fires_at ?? scheduled_at });
    return {
      success: true as const,
      campaign: row,
      warnings: problems.map(({ field, message }) => `${field}: ${message}`),
      ...(checked && { preflight: checked }),
    };
  },
});

/** The time as an instant: without an offset the property's clock shows it. Throws `invalid` unless it does so once. */
async function instantOf({ sql, property }: Tenant, written: string): Promise<string> {
  const { clock, offset } = readTime(written)!;
  if (offset !== null) return written;
  const { timezone } = property;
  // A clock is set back by half an hour to two hours.
  const [row] = await sql<{ at: string; shown: number }[]>`
    select to_json(at) #>> '{}' as at, (
      select count(*)::int from unnest(array[-120, -60, -30, 0, 30, 60, 120]) as minutes
      where (at + make_interval(mins => minutes)) at time zone ${timezone} = ${clock}::timestamp) as shown
    from (select ${clock}::timestamp at time zone ${timezone} as at) local`;
  const { at, shown } = row!;
  if (readTime(at) === null) throw invalid("scheduled_at", "must be within the years 1 to 9999 in UTC");
  if (shown === 1) return at;
  const why = shown === 0 ? "skips this time" : "shows this time twice";
  throw invalid("scheduled_at", `the clock of ${timezone} ${why}; give it with its offset, such as -05:00`);
}

/** By the database's clock, which starts the campaign too. */
async function checkFuture({ sql }: Tenant, time: string): Promise<void> {
  const [row] = await sql<{ future: boolean }[]>`select ${time}::timestamptz > clock_timestamp() as future`;
  if (!row?.future) throw invalid("scheduled_at", `must be in the future, and ${time} has passed`);
}

/** The audience: the segment that is named, or the campaign's own. */
async function targetOf(context: Tenant, campaign: Campaign, segmentId: string | null) {
  if (segmentId !== null) {
    await checkSegment(context, segmentId);
    return { segment_id: segmentId, audience: null, conditions: null };
  }
  if (!hasAudience(campaign)) {
    throw invalid("segment_id", "is needed: the campaign has no audience of its own");
  }
  if (campaign.segment_id !== null) await checkSegment(context, campaign.segment_id);
  const { segment_id, audience, conditions } = campaign;
  return { segment_id, audience, conditions };
}

/** The first moment at which a clock of the audience shows the property's `time`; now, if that has passed. */
async function firstLocalTime({ sql, property }: Tenant, time: string, audience: Fragment): Promise<string> {
  const [row] = await sql<{ first: string }[]>`
    with wall as materialized (select ${time}::timestamptz at time zone ${property.timezone} as clock)
    select to_json(greatest(clock_timestamp(), least(${time}::timestamptz, (
      select min(wall.clock at time zone known_zone(z.zone, ${property.timezone}))
      from (
        select distinct unnest(zones) as zone from (
          select distinct p.zones from players p where p.property_id = ${property.id} and ${audience}) s
      ) z, wall)))) #>> '{}' as first`;
  return row!.first;
}

/** Also keeps the segment from being deleted until this transaction ends. */
async function checkSegment({ sql, property }: Tenant, id: string): Promise<void> {
  const segments = await sql`
    select 1 from segments where property_id = ${property.id} and id = ${id} and deleted_at is null
    for key share`;
  one(segments, "segment", id);
}
