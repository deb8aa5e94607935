import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "#db/client.ts";
import type { Context } from "#runtime/context.ts";
import type { Channel } from "./channels.ts";
import type { BlockReason } from "./gate.ts";

const LOOK_EVERY_MS = 25;

type Place = Pick<Context, "sql" | "property">;
type Fragment = ReturnType<Sql>;

/** The players' own matter: whoever shares an address with them is not barred by it. */
const OWN: readonly BlockReason[] = ["dnc", "reassigned_number"];
/** Of the address, whoever has it. */
const ADDRESSED: readonly BlockReason[] = ["suppressed"];

/**
 * Bars players from what is under way, before the row that bars them from the rest: their open sends are cancelled,
 * and what is on its way has started when this resolves. So nothing is sent after the caller's answer.
 */
export async function haltSends(
  place: Place,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<void> {
  await cancelOpenSends(place, playerIds, channels, reason);
  await untilStarted(place, playerIds);
}

/** The same for an address, whoever has it. */
export async function haltAddress(
  place: Place,
  hash: Buffer,
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<void> {
  const theirs = sendsAt(place, hash);
  await cancel(place, theirs, { channels, reason });
  await started(place, theirs, 1);
}

/**
 * Cancels what these players, and whom their bar concerns too, would still be sent on the channels. Answers how many
 * sends there were. Of what was to be repeated nobody can tell: the vendor may have it already.
 */
export async function cancelOpenSends(
  { sql, property }: Place,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<number> {
  if (playerIds.length === 0) return 0;
  return cancel({ sql, property }, sendsTo({ sql, property }, playerIds), { channels, reason });
}

async function cancel(
  { sql, property }: Place,
  theirs: Fragment,
  { channels, reason }: { channels: readonly Channel[]; reason: BlockReason },
): Promise<number> {
  const forSharers = ADDRESSED.includes(reason) ? reason : "shared_address";
  const rows = await sql`
    with ${theirs}
    update campaign_sends s
    set status = case when repeats then 'unknown' else 'cancelled' end, updated_at = now(),
      skip_reasons = array[case when t.own then ${reason}::text else ${forSharers} end]
    from theirs t
    where s.property_id = ${property.id} and s.id = t.id and (t.own or not ${OWN.includes(reason)})
      and s.channel = any(${[...channels]}::text[]) and s.status in ('pending', 'deferred')`;
  return rows.count;
}

/**
 * Resolves when none of their messages is between a claim and its record, or so many seconds after the claim. A vendor
 * starts a message within a second of the claim; an erasure waits longer, for the record. Where open sends were
 * cancelled before in the same transaction, none can be claimed meanwhile: a claim that held them was waited for, and
 * another finds them cancelled.
 */
export async function untilStarted(
  { sql, property }: Place,
  playerIds: string[],
  { seconds = 1 }: { seconds?: number } = {},
): Promise<void> {
  if (playerIds.length > 0) await started({ sql, property }, sendsTo({ sql, property }, playerIds), seconds);
}

async function started({ sql, property }: Place, theirs: Fragment, seconds: number): Promise<void> {
  // Not claimed_at: of what is sent once more, that is the first claim's.
  const look = () => sql`
    with ${theirs}
    select from theirs t join campaign_sends s on s.property_id = ${property.id} and s.id = t.id
    where s.status = 'sending' and s.updated_at > clock_timestamp() - make_interval(secs => ${seconds})
    limit 1`;
  while ((await look()).length > 0) await pause(LOOK_EVERY_MS);
}

/** A CTE of the sends to an address. */
function sendsAt({ sql, property }: Place, hash: Buffer): Fragment {
  return sql`
    theirs as (
      select id, true as own from campaign_sends where property_id = ${property.id} and address_hash = ${hash})`;
}

/** A CTE of the sends to these players and to the addresses that they have. */
function sendsTo({ sql, property }: Place, playerIds: string[]): Fragment {
  return sql`
    whose as materialized (
      select unnest(array[email_hash, phone_hash]) as hash from players
      where property_id = ${property.id} and id = any(${playerIds}::uuid[])
    ), theirs as materialized (
      select id, bool_or(own) as own from (
        select id, true as own from campaign_sends
        where property_id = ${property.id} and player_id = any(${playerIds}::uuid[])
        union all
        select s.id, false from whose w
          join campaign_sends s on s.property_id = ${property.id} and s.address_hash = w.hash
      ) s group by id
    )`;
}
