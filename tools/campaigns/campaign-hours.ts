import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { findCampaign } from "./campaign/campaign.ts";

const MOST_HOURS = 168;

const Hour = z.object({
  at: timestamp().describe("The hour's beginning"),
  messages: z.int().describe("Handed to the provider in this hour"),
  opened: z.int().describe("First opens by people"),
  clicked: z.int().describe("First clicks by people"),
});

export default tool({
  name: "campaign_hours",
  title: "A campaign's messages, opens and clicks by the hour",
  description:
    "Counts by the hour, from the first message on for a week: the messages handed over, and the recipients whose first open and first click, by people, came then. Hours without any are left out. Totals are in campaign_stats.",
  scope: "read",
  effect: "read",
  property: "propertyId",
  heavy: true,
  input: { campaignId: z.uuid().describe("From list_campaigns"), propertyId: z.uuid() },
  output: z.object({ hours: z.array(Hour) }),
  faults: ["not_found"],
  async handler(context, { campaignId }) {
    const { sql, property } = context;
    const campaign = await findCampaign(context, campaignId, { deletedToo: true });
    const hours = await sql<z.output<typeof Hour>[]>`
      with moments as (
        select sent_at, first_human_open_at, first_human_click_at from campaign_sends
        where property_id = ${property.id} and campaign_id = ${campaign.id} and sent_at is not null
      ), counted as (
        select date_trunc('hour', sent_at) as hour, 1 as messages, 0 as opened, 0 as clicked from moments
        union all
        select date_trunc('hour', first_human_open_at), 0, 1, 0 from moments where first_human_open_at is not null
        union all
        select date_trunc('hour', first_human_click_at), 0, 0, 1 from moments where first_human_click_at is not null
      )
      select to_json(hour) #>> '{}' as at, sum(messages)::int as messages, sum(opened)::int as opened,
        sum(clicked)::int as clicked
      from counted group by hour order by hour limit ${MOST_HOURS}::int`;
    return { hours: [...hours] };
  },
});
