import { sql } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import { type Counting, countSends } from "./count-sends.ts";

/** A person who decides reads no more. */
const MOST_NAMED = 5;
/** The rule must be written, however many messages wait: a request has four seconds. */
const COUNT_FOR_MS = 1_000;

/** The reasons by which a message waits. */
const WAITS = { quiet_hours: "open hours", frequency_capped: "a frequency rule" };

/**
 * Names the campaigns with messages that such a rule lets wait: where it is loosened, they may go out at once. Says so
 * where there was no time to count all of them.
 */
export async function waitingWords(
  context: Tenant,
  reason: keyof typeof WAITS,
  channels: readonly string[],
  { countUntil = performance.now() + COUNT_FOR_MS, page }: Partial<Omit<Counting, "key">> = {},
): Promise<string[]> {
  const key = sql`case when s.status = 'deferred' and s.skip_reasons @> ${[reason]}::text[]
    and s.channel = any(${[...channels]}::text[]) then 'waits' end`;
  const campaigns: { name: string; messages: number }[] = [];
  let isCut = false;
  for (const campaign of await campaignsUnderWay(context)) {
    const { counts, isWhole } = await countSends(context, campaign, { key, countUntil, page });
    if (counts.waits) campaigns.push({ name: campaign.name, messages: counts.waits });
    isCut ||= !isWhole;
  }
  if (campaigns.length === 0) {
    return isCut
      ? [
          `Messages may wait for ${WAITS[reason]} and go out at once: there was no time to count those of all campaigns.`,
        ]
      : [];
  }
  campaigns.sort((one, other) => other.messages - one.messages);
  const total = campaigns.reduce((sum, { messages }) => sum + messages, 0);
  const named = campaigns.slice(0, MOST_NAMED).map(({ name, messages }) => `${quoted(name)} (${messages})`);
  const more = campaigns.length - named.length;
  return [
    `${isCut ? "At least " : ""}${counted(total, "message waits", "messages wait")} for ${WAITS[reason]} and may go out at once, of ${counted(campaigns.length, "campaign")}: ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}.`,
    ...(isCut ? ["There was no time to count the messages of all campaigns."] : []),
  ];
}

/** The campaigns that send now, and the messages of journeys with an open send. */
async function campaignsUnderWay({ sql: transaction, property }: Tenant) {
  return await transaction<{ id: string; name: string; journey_id: string | null }[]>`
    select c.id, c.name, c.journey_id from campaigns c
    where c.property_id = ${property.id} and c.status = 'sending' and (c.journey_id is null or exists (
      select from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = c.id and s.is_open))
    order by c.name, c.id`;
}
