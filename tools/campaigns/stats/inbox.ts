import { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import { type Period, within } from "./period.ts";

const count = z.int();

export const InboxStats = z.object({
  seen: count.describe("Messages that were in view for a second, or opened or archived"),
  read: count.describe("Messages that were opened"),
  clicked: count.describe("Messages whose button was followed"),
  archived: count.describe("Messages that are archived now"),
});
type InboxStats = z.output<typeof InboxStats>;

/** The messages of a campaign that are still in inboxes: an erasure takes its player's away. */
export async function countMessages(
  { sql, property }: Tenant,
  campaignId: string,
  period: Period,
): Promise<InboxStats> {
  const [figures] = await sql<[InboxStats]>`
    select count(m.seen_at)::int as seen, count(m.read_at)::int as read, count(m.clicked_at)::int as clicked,
      count(m.archived_at)::int as archived
    from campaign_sends s
    join inbox_messages m on m.property_id = ${property.id} and m.id = s.id
    where s.property_id = ${property.id} and s.campaign_id = ${campaignId} ${within(sql, period)}`;
  return figures;
}
