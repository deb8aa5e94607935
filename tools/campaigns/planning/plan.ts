import { cte, type Fragment, join, raw, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { drawnVariant } from "#tools/campaigns/campaign/ab-test.ts";
import { type Campaign, sendingChannel } from "#tools/campaigns/campaign/campaign.ts";
import { clockAt } from "#tools/compliance/hours.ts";
import { ADDRESS_COLUMNS } from "#tools/people/address.ts";
import type { Referred } from "#tools/segments/rules/references.ts";
import { audiencePage, type Judged, judgedPeople, type People } from "./audience.ts";
import { waitingCtes } from "./send-waits.ts";

interface PlannedPage {
  count: number;
  last: string | null;
}

/**
 * Writes a send for each of the next `limit` players after the campaign's cursor: pending, deferred, or skipped with
 * every reason. A deferred send waits for the player's own time, their next open hour or the end of a test. An address
 * that has its send already, by any player, gets no second message.
 */
export async function planPage(
  context: Tenant,
  campaign: Campaign,
  limit: number,
  planned?: Referred,
): Promise<PlannedPage> {
  const people = await audiencePage(context, campaign, { cursor: campaign.plan_cursor, limit, planned });
  const [page] = await context.sql<[PlannedPage]>`
    with ${plannedCtes(context, campaign, people)}
    select count(*)::int as count, (array_agg(id order by id))[count(*)::int] as last from judged`;
  return page;
}

/**
 * CTEs that write a send for each of the people, beginning with `judged`. They end in `planned (key, send_id)`, the
 * people with a message of their own, and `doubled (key, send_id)`, those who share the address of another.
 */
export function plannedCtes(context: Tenant, campaign: Campaign, people: People): Fragment {
  return join([
    judgedPeople(context, campaign, people, { plan: true }),
    waitingCtes(context, campaign, people.at),
    sendCtes(context, campaign, people),
  ]);
}

function sendCtes({ property }: Tenant, campaign: Campaign, { carried, round, at }: People): Fragment {
  const channel = sendingChannel(campaign);
  const { masked } = ADDRESS_COLUMNS[channel];
  const drawn = drawnSql(campaign);
  const isEnrolled = carried.includes("enrollment_id");
  const enrollment = isEnrolled ? raw("enrollment_id") : sql`null::uuid`;
  const key = raw(isEnrolled ? "enrollment_id" : "player_id");
  const columns = raw(`property_id, id, campaign_id, player_id, enrollment_id, channel, status, skip_reasons,
    address_hash, address_masked, dedupe_key, created_at, updated_at, journey_id, node_id`);
  const moment = at === undefined ? sql`now(), now()` : sql`${clockAt(at)}, ${clockAt(at)}`;
  const written = sql`${moment}, ${campaign.journey_id}::uuid, ${campaign.journey_node}::text`;
  const own = sql`${property.id}::uuid, uuid_v7(), ${campaign.id}::uuid, id, ${enrollment}, ${raw(`'${channel}'`)}`;
  const prefix = (what: string) =>
    typeof round === "string"
      ? sql`${`${campaign.id}|${round}|${what}|`}::text`
      : sql`(${`${campaign.id}|`}::text || ${round} || ${`|${what}|`}::text)`;
  const addressKey = sql`sha256(convert_to(${prefix(channel)}, 'UTF8') || hash)`;
  const playerKey = sql`sha256(convert_to(${prefix("player")}, 'UTF8') || uuid_send(id))`;
  // One send a player; an allowed player's is keyed by the address.
  const planned = sql`
    insert into campaign_sends (${columns}, scheduled_for${drawn.column})
    select ${own},
      case when reasons <> '{}' then 'skipped' when until is not null or ${drawn.waits} then 'deferred' else 'pending' end,
      case when reasons <> '{}' then reasons when ${drawn.waits} then '{ab_test}' else coalesce(waits, '{}') end, hash, ${masked},
      case when reasons = '{}' then ${addressKey} else ${playerKey} end, ${written},
      case when ${drawn.waits} then ${drawn.until} when reasons = '{}' then until end${drawn.column}
    from ${drawn.source} left join waiting using (zones, region) order by id
    on conflict (property_id, dedupe_key) do nothing
    returning ${key} as key, id as send_id`;
  // Players whose address has its send by another player.
  const doubled = sql`
    insert into campaign_sends (${columns})
    select ${own}, 'skipped', '{duplicate_address}', hash, ${masked}, ${playerKey}, ${written}
    from judged where reasons = '{}' and ${raw(isEnrolled ? "enrollment_id" : "id")} not in (select key from planned)
    on conflict (property_id, dedupe_key) do nothing
    returning ${key} as key, id as send_id`;
  return join([cte("planned", planned), cte("doubled", doubled)]);
}

/** Adds each recipient's variant to the plan. A recipient without one `waits` for the winner. */
function drawnSql({ id, ab_test, ab_ends_at }: Judged) {
  if (!ab_test) {
    return { source: sql`judged`, column: raw(""), waits: sql`false`, until: sql`null::timestamptz` };
  }
  const variant = sql`case when reasons = '{}' then ${drawnVariant(id, ab_test)} end`;
  return {
    source: sql`(select *, ${variant} as variant_id from judged) judged`,
    column: sql`, variant_id`,
    waits: sql`(reasons = '{}' and variant_id is null)`,
    until: sql`${ab_ends_at!}::timestamptz`,
  };
}
