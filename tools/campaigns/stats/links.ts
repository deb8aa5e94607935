import type { z } from "zod";
import type { Tenant } from "#runtime/operation/context.ts";
import type { LinkStats } from "./answer.ts";
import { isLimited, type Period, within } from "./period.ts";

/** The campaign's most clicked links. */
export async function countLinks({ sql, property }: Tenant, id: string, period: Period) {
  const links = await sql<z.output<typeof LinkStats>[]>`
    select l.id as link_id, l.url, coalesce(sum(c.clicks), 0)::int as clicks_total, count(c.send_id)::int as clicks_unique,
      count(c.first_human_click_at)::int as clicks_human
    from campaign_links l
    left join campaign_clicks c on c.property_id = ${property.id} and c.campaign_id = ${id} and c.link_id = l.id
      ${isLimited(period) ? sql`and exists (select 1 from campaign_sends s where s.property_id = ${property.id} and s.id = c.send_id ${within(sql, period)})` : sql``}
    where l.property_id = ${property.id} and l.campaign_id = ${id}
    group by l.property_id, l.id order by clicks_total desc, l.id limit 50`;
  return [...links];
}
