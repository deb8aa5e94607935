import type { Tenant } from "#runtime/operation/context.ts";

// A message reaches the vendor up to two seconds after its claim, so a minute of claims counts for longer.
const WINDOW_SECONDS = 62;

type Throttled = { campaignId: string; throttle: number };

/**
 * The number of messages that a throttled campaign may still claim in this minute, over all loops and processes. Locks
 * the campaign's row, so that the next caller counts the claims that this transaction notes.
 */
export async function roomToClaim(
  { sql, property }: Tenant,
  { campaignId, throttle }: Throttled,
): Promise<number> {
  await sql`
    select 1 from campaigns where property_id = ${property.id} and id = ${campaignId} for no key update`;
  // A statement of its own: it sees the claims that were noted while this one waited for the row.
  const [room] = await sql<[{ left: number }]>`
    with expired as (
      delete from campaign_claims
      where property_id = ${property.id} and campaign_id = ${campaignId}
        and claimed_at <= statement_timestamp() - make_interval(secs => ${WINDOW_SECONDS})
    )
    select greatest(0, ${throttle} - coalesce(sum(count), 0))::int as left from campaign_claims
    where property_id = ${property.id} and campaign_id = ${campaignId}
      and claimed_at > statement_timestamp() - make_interval(secs => ${WINDOW_SECONDS})`;
  return room.left;
}

/** Notes messages claimed after `roomToClaim` in the same transaction. Answers the note's id. */
export async function noteClaim(
  { sql, property }: Tenant,
  campaignId: string,
  count: number,
): Promise<string | null> {
  if (count === 0) return null;
  const [note] = await sql<[{ id: string }]>`
    insert into campaign_claims (property_id, campaign_id, count) values (${property.id}, ${campaignId}, ${count})
    returning id`;
  return note.id;
}

/** Takes messages that were not sent out of a note. */
export async function giveBackClaim(
  { sql, property }: Tenant,
  note: string | null,
  count: number,
): Promise<void> {
  if (note === null || count === 0) return;
  await sql`
    update campaign_claims set count = greatest(0, count - ${count}::int)
    where property_id = ${property.id} and id = ${note}`;
}

/** Seconds until a throttled campaign may claim again. */
export async function secondsToRoom(context: Tenant, throttled: Throttled): Promise<number> {
  if ((await roomToClaim(context, throttled)) > 0) return 0;
  const { sql, property } = context;
  const [row] = await sql<{ wait: number }[]>`
    select greatest(0, extract(epoch from min(claimed_at) - statement_timestamp()) + ${WINDOW_SECONDS})::double precision
      as wait
    from campaign_claims where property_id = ${property.id} and campaign_id = ${throttled.campaignId}`;
  return row?.wait ?? 0;
}
