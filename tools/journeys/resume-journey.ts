import { z } from "zod";
import { literals } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { type Context, UNBOUNDED } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { update } from "#runtime/operation/rows.ts";
import { lockPause, refusePaused } from "#tools/campaigns/campaign/property-pause.ts";
import deliverCampaign from "#tools/campaigns/delivery/deliver-campaign.job.ts";
import { stepSoon } from "#tools/enrollments/jobs.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import { checkStatus, findJourney, JourneyView } from "./journey/journey.ts";
import journeys from "./journeys.table.ts";

/** A million people inside take their time. */
const DEADLINE_MS = 60_000;

export default tool({
  name: "resume_journey",
  title: "Resume a journey",
  description:
    "Lets a paused journey go on. Players whose wait ended during the pause move on, at once or as its windows and rate limits let them; with shift all waits become longer by the pause.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  deadline: DEADLINE_MS,
  input: {
    journeyId: z.uuid().describe("From list_journeys"),
    propertyId: z.uuid(),
    shift: z.boolean().default(false).describe("Move all waits by the length of the pause"),
  },
  output: z.object({
    success: z.literal(true),
    journey: JourneyView,
    late: z.int().describe("Players whose wait ended during the pause"),
    waiting_messages: z.int().describe("Messages that go on, each to be checked again"),
  }),
  faults: ["not_found", "conflict"],
  async handler(context, { journeyId, shift }) {
    const pause = await lockPause(context, "shared");
    const journey = await findJourney(context, journeyId, { lock: "change" });
    checkStatus(journey, ["paused"], "be resumed");
    refusePaused(pause);
    const late = await countLate(context, journeyId);
    const waiting = await countWaiting(context, journeyId);
    context.ask?.({
      sentences: () => [
        `The journey ${JSON.stringify(journey.name)} goes on now.`,
        shift
          ? "All waits become longer by the pause."
          : `${counted(late, "player whose wait ended during the pause moves", "players whose wait ended during the pause move")} on now, as the time windows and rate limits allow.`,
        `${counted(waiting, "message waits", "messages wait")} to be sent.`,
      ],
      facts: () => ({
        "the journey's version": `${journey.id} ${journey.version}`,
        "the pause": `${journey.paused_at}`,
      }),
      reach: UNBOUNDED,
    });
    if (shift) await shiftWaits(context, journeyId);
    const values = { status: "active", status_reason: null, paused_at: null };
    const row = await update(context, journeys, journeyId, values);
    await resumeMessages(context, journeyId);
    stepSoon(context, journeyId);
    context.audit({ entity: "journeys", entityId: journeyId });
    return { success: true as const, journey: row, late, waiting_messages: waiting };
  },
});

async function countLate({ sql: transaction, property }: Context, journeyId: string): Promise<number> {
  const [counted] = await transaction<[{ count: number }]>`
    select count(*)::int as count from journey_enrollments d
    where d.property_id = ${property.id} and d.journey_id = ${journeyId} and d.status = 'active'
      and d.wake_at <= now()`;
  return counted.count;
}

async function countWaiting({ sql: transaction, property }: Context, journeyId: string): Promise<number> {
  const [counted] = await transaction<[{ count: number }]>`
    select count(*)::int as count from campaigns c
      join campaign_sends s on s.property_id = ${property.id} and s.campaign_id = c.id and s.is_open
    where c.property_id = ${property.id} and c.journey_id = ${journeyId} and s.status in (${literals(WAITING_SENDS)})`;
  return counted.count;
}

/** Waits that had ended before the pause keep their time. */
async function shiftWaits({ sql: transaction, property }: Context, journeyId: string): Promise<void> {
  await transaction`
    with pause as materialized (
      select now() as moment, paused_at from journeys where property_id = ${property.id} and id = ${journeyId}
    ), shifted as materialized (
      select d.id, d.wake_at + (p.moment - p.paused_at) as wake_at, p.moment
      from journey_enrollments d, pause p
      where d.property_id = ${property.id} and d.journey_id = ${journeyId} and d.status = 'active'
        and d.phase = 'waiting' and d.wake_at > p.paused_at
    )
    update journey_enrollments d set wake_at = s.wake_at, updated_at = s.moment
    from shifted s where d.property_id = ${property.id} and d.id = s.id and d.status = 'active' and d.phase = 'waiting'`;
}

async function resumeMessages(context: Context, journeyId: string): Promise<void> {
  await endOldMessages(context, journeyId);
  const resumed = await context.sql<{ id: string }[]>`
    update campaigns set status = 'sending', status_reason = null, updated_at = now()
    where property_id = ${context.property.id} and journey_id = ${journeyId} and status in ('paused', 'failed')
      and deleted_at is null
    returning id`;
  for (const { id } of resumed) context.enqueue(deliverCampaign, { campaignId: id }, { dedupe: id });
}

/** The messages of an older version are over once nobody is inside: a provider that is gone since holds nobody up. */
async function endOldMessages({ sql: transaction, property }: Context, journeyId: string): Promise<void> {
  await transaction`
    with clock as materialized (select now() as moment), over as materialized (
      select n.campaign_id as id from journey_nodes n
        join journeys j on j.property_id = ${property.id} and j.id = n.journey_id
      where n.property_id = ${property.id} and n.journey_id = ${journeyId} and n.version <> j.current_version
        and not exists (
          select from journey_enrollments e
          where e.property_id = ${property.id} and e.journey_id = ${journeyId} and e.version = n.version
            and e.status = 'active')
        and not exists (
          select from campaign_sends s
          where s.property_id = ${property.id} and s.campaign_id = n.campaign_id and s.is_open)
    )
    update campaigns c set status = 'sent', status_reason = null, finished_at = clock.moment, updated_at = clock.moment
    from over, clock
    where c.property_id = ${property.id} and c.id = over.id and c.status in ('sending', 'paused', 'failed')`;
}
