import { z } from "zod";
import { literals } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context, Reach } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { quoted } from "#runtime/visible-text.ts";
import { holdIfChanged } from "#tools/campaigns/approval/approve.ts";
import { changeStatus, findCampaign } from "#tools/campaigns/campaign/campaign.ts";
import {
  countedApart,
  JOURNEY_MESSAGES,
  lockPause,
  type PropertyPause,
} from "#tools/campaigns/campaign/property-pause.ts";
import fireCampaign from "#tools/campaigns/fire-campaign.job.ts";
import planCampaign from "#tools/campaigns/plan-campaign.job.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";

const MOST_NAMED = 20;
const MOST_REASON = 500;

export default tool({
  name: "resume_all_sending",
  title: "Resume all sending",
  description:
    "Ends pause_all_sending: campaigns that it had paused go on where they stopped, and scheduled ones whose time has come start. A campaign that was changed since it was approved stays paused.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({
    success: z.literal(true),
    resumed: z.int().describe("Campaigns that go on"),
    journey_messages: JOURNEY_MESSAGES,
    held: z.int().describe("Campaigns that stay paused, because they were changed since they were approved"),
    due: z.int().describe("Scheduled campaigns that start now"),
  }),
  faults: ["conflict"],
  async handler(context, _input) {
    const { sql, property } = context;
    const pause = await lockPause(context, "alone");
    if (!pause)
      throw new Fault("conflict", { message: "Sending is not paused: pause_all_sending does that." });
    const [waiting, due] = [await pausedBy(context, pause), await dueCampaigns(context)];
    const ids = [...waiting, ...due].map(({ id }) => id);
    context.ask?.({
      state: `${pause.id} ${ids.join(" ")}`,
      sentences: () => wordsOf(pause, waiting, due),
      reach: reachOf(waiting, due),
    });
    await sql`
      update sending_pauses set is_open = false, updated_at = now()
      where property_id = ${property.id} and id = ${pause.id}`;
    const going: Waiting[] = [];
    for (const one of waiting) if (await goOn(context, one.id)) going.push(one);
    const { campaigns: resumed, journey_messages } = countedApart(going);
    const held = waiting.length - going.length;
    for (const { id } of due) context.enqueue(fireCampaign, { campaignId: id });
    context.audit({ entity: "sending_pauses", entityId: pause.id });
    return { success: true as const, resumed, journey_messages, held, due: due.length };
  },
});

interface Waiting {
  id: string;
  name: string;
  journey_id: string | null;
  /** Planned messages that are still to be sent. */
  messages: number;
}

/** The audience of a campaign that starts now is counted when it starts. */
function reachOf(waiting: readonly Waiting[], due: readonly Waiting[]): Reach {
  const messages = due.length > 0 ? null : waiting.reduce((sum, one) => sum + one.messages, 0);
  return { players: () => messages, cost: () => (messages === 0 ? 0 : null) };
}

function pausedBy({ sql, property }: Context, { campaign_ids }: PropertyPause): Promise<Waiting[]> {
  return sql<Waiting[]>`
    select c.id, c.name, c.journey_id, (
      select count(*)::int from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = c.id and s.status in (${literals(WAITING_SENDS)})) as messages
    from campaigns c
    where c.property_id = ${property.id} and c.id = any(${campaign_ids}::uuid[]) and c.status = 'paused'
      and c.deleted_at is null and (c.journey_id is null or exists (
        select from journeys j
        where j.property_id = ${property.id} and j.id = c.journey_id and j.status = 'active'))
    order by c.id`;
}

function dueCampaigns({ sql, property }: Context): Promise<Waiting[]> {
  return sql<Waiting[]>`
    select id, name, journey_id, 0 as messages from campaigns
    where property_id = ${property.id} and status = 'scheduled' and deleted_at is null
      and coalesce(fires_at, scheduled_at) <= now()
    order by id`;
}

/** Lets a campaign go on if it is still what was approved. Answers whether it goes on. */
async function goOn(context: Context, id: string): Promise<boolean> {
  const campaign = await findCampaign(context, id, { lock: true });
  if (await holdIfChanged(context, campaign)) return false;
  await changeStatus(context, id, "resume");
  context.enqueue(planCampaign, { campaignId: id }, { dedupe: id });
  return true;
}

function wordsOf({ since, reason }: PropertyPause, waiting: Waiting[], due: Waiting[]): string[] {
  const named = [
    ...waiting.map(
      ({ name, messages }) =>
        `${quoted(name)} goes on: ${counted(messages, "message waits", "messages wait")}.`,
    ),
    ...due.map(({ name }) => `${quoted(name)} starts: its time has come.`),
  ];
  const more = named.length - MOST_NAMED;
  return [
    `This ends the pause of all sending, which began at ${since}${reason === null ? "" : ` (${quoted(reason, MOST_REASON)})`}.`,
    ...named.slice(0, MOST_NAMED),
    ...(more > 0 ? [`${more} more campaigns go on or start.`] : []),
    ...(named.length === 0 ? ["No campaign waits."] : []),
  ];
}
