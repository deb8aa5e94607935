import { counted } from "#runtime/counted.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";

/** A person who decides reads no more. */
const MOST_NAMED = 5;

/** The reasons by which a message waits. */
const WAITS = { quiet_hours: "open hours", frequency_capped: "a frequency rule" };

/** Names the campaigns with messages that such a rule lets wait: where it is loosened, they may go out at once. */
export async function waitingWords(
  { sql, property }: Tenant,
  reason: keyof typeof WAITS,
  channels: readonly string[],
): Promise<string[]> {
  // Two parts, because only the sends of journeys have an index of the open ones.
  const waits = sql`s.property_id = ${property.id} and s.status = 'deferred' and s.skip_reasons @> ${[reason]}::text[]
    and s.channel = any(${[...channels]}::text[])`;
  const campaigns = await sql<{ name: string; messages: number }[]>`
    with waiting as (
      select s.campaign_id from campaigns b
        join campaign_sends s on s.property_id = ${property.id} and s.campaign_id = b.id
      where b.property_id = ${property.id} and b.journey_id is null and b.status = 'sending' and ${waits}
      union all
      select s.campaign_id from campaign_sends s where s.is_open and ${waits}
    )
    select c.name, count(*)::int as messages
    from waiting w join campaigns c on c.property_id = ${property.id} and c.id = w.campaign_id
    where c.status = 'sending' group by c.id, c.name order by messages desc, c.name, c.id`;
  if (campaigns.length === 0) return [];
  const total = campaigns.reduce((sum, { messages }) => sum + messages, 0);
  const named = campaigns.slice(0, MOST_NAMED).map(({ name, messages }) => `${quoted(name)} (${messages})`);
  const more = campaigns.length - named.length;
  return [
    `${counted(total, "message waits", "messages wait")} for ${WAITS[reason]} and may go out at once, of ${counted(campaigns.length, "campaign")}: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
  ];
}
