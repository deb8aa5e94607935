import type { Context } from "#runtime/context.ts";

// A message reaches the vendor up to two seconds after its claim, so a minute of claims is counted for longer.
const WINDOW_SECONDS = 62;

type Setting = Pick<Context, "sql" | "property">;
type Throttled = { campaignId: string; throttle: number };

/**
 * How many messages a throttled campaign may still claim in this minute, over all lanes and processes. Holds the
 * campaign's row, so that the next one who asks counts what this transaction notes.
 */
export async function roomToClaim({ sql, property }: Setting, wanted: Throttled): Promise<number> {
  const { campaignId, throttle } = wanted;
  await sql`
    select 1 from campaigns where property_id = ${property.id} and id = ${campaignId} for no key update`;
  // A statement of its own: it sees what was noted while this one waited for the row.
  const [room] = await sql<{ left: number }[]>`
    with forgotten as (
      delete from campaign_claims
      where property_id = ${property.id} and campaign_id = ${campaignId}
        and claimed_at <= clock_timestamp() - make_interval(secs => ${WINDOW_SECONDS})
    )
    select greatest(0, ${throttle} - coalesce(sum(count), 0))::int as left from campaign_claims
    where property_id = ${property.id} and campaign_id = ${campaignId}
      and claimed_at > clock_timestamp() - make_interval(secs => ${WINDOW_SECONDS})`;
  return room!.left;
}

/** Notes messages that were claimed under `roomToClaim`, in the same transaction. Answers the note's id. */
export async function noteClaim(
  { sql, property }: Setting,
  campaignId: string,
  count: number,
): Promise<string | null> {
  if (count === 0) return null;
  const [note] = await sql<{ id: string }[]>`
    insert into campaign_claims (property_id, campaign_id, count) values (${property.id}, ${campaignId}, ${count})
    returning id`;
  return note!.id;
}

/** Takes messages out of a note that were not sent after all. */
export async function giveBackClaim(
  { sql, property }: Setting,
  note: string | null,
  count: number,
): Promise<void> {
  if (note === null || count === 0) return;
  await sql`
    update campaign_claims set count = greatest(0, count - ${count}::int)
    where property_id = ${property.id} and id = ${note}`;
}

/** Seconds until a throttled campaign may claim again. */
export async function secondsToRoom(context: Setting, wanted: Throttled): Promise<number> {
  if ((await roomToClaim(context, wanted)) > 0) return 0;
  const { sql, property } = context;
  const [row] = await sql<{ wait: number }[]>`
    select greatest(0, extract(epoch from min(claimed_at) - clock_timestamp()) + ${WINDOW_SECONDS})::double precision
      as wait
    from campaign_claims where property_id = ${property.id} and campaign_id = ${wanted.campaignId}`;
  return row?.wait ?? 0;
}
