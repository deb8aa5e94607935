import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { COUNTED_ANEW } from "./stats.ts";

const MOST_HOURS = 168;

export const Hour = z.object({
  at: timestamp().describe("The hour's beginning"),
  messages: z.int().describe("Handed to the provider in this hour"),
  opened: z.int().describe("First opens by people"),
  clicked: z.int().describe("First clicks by people"),
});
type Hour = z.output<typeof Hour>;

interface CountedHours {
  as_of: string;
  hours: Hour[];
}

/** The hours of a campaign: the last count of a large one, else a new count. */
export async function hoursOf(context: Context, campaignId: string): Promise<CountedHours> {
  const { sql, property } = context;
  const [kept] = await sql<{ counted: CountedHours }[]>`
    select stats_hours as counted from campaigns
    where property_id = ${property.id} and id = ${campaignId} and audience_count > ${COUNTED_ANEW}
      and stats_hours is not null`;
  return kept?.counted ?? countHours(context, campaignId);
}

/** Keeps the hours of a campaign that is too large to be counted for each reader. Its version stays. */
export async function keepHours({ sql, property }: Tenant, id: string, counted: CountedHours): Promise<void> {
  await sql`
    update campaigns set stats_hours = ${counted}::jsonb
    where property_id = ${property.id} and id = ${id}`;
}

/** Counts by the hour, from the first message on. */
export async function countHours(context: Context, campaignId: string): Promise<CountedHours> {
  const { sql, property } = context;
  const hours = await sql<Hour[]>`
    with moments as (
      select sent_at, first_human_open_at, first_human_click_at from campaign_sends
      where property_id = ${property.id} and campaign_id = ${campaignId} and sent_at is not null
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
  return { as_of: new Date(context.now()).toISOString(), hours: [...hours] };
}
