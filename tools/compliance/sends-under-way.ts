import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "#db/database.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Channel } from "./channels.ts";
import type { BlockReason } from "./gate.ts";

/** How long after its claim a vendor may start a message: who bars its player waits for so long. */
export const STARTED_WITHIN_MS = 1_000;
const LOOK_EVERY_MS = 25;

type Place = Pick<Context, "sql" | "property">;
type Fragment = ReturnType<Sql>;

/** The players' own matter: whoever shares an address with them is not barred by it. */
const OWN: readonly BlockReason[] = ["dnc", "reassigned_number"];
/** Of the address, whoever has it. */
const ADDRESSED: readonly BlockReason[] = ["suppressed"];

interface Bar {
  channels: readonly Channel[];
  reason: BlockReason;
}

/**
 * Bars players from what is under way, before the row that bars them from the rest: their open sends are cancelled,
 * and what is on its way has started when this resolves. So nothing is sent after the caller's answer. Who needs the
 * record of what is on its way too waits for longer `withinMs`.
 */
export async function haltSends(
  place: Place,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
  { withinMs = STARTED_WITHIN_MS }: { withinMs?: number } = {},
): Promise<void> {
  if (playerIds.length === 0) return;
  await halt(place, sendsTo(place, playerIds), { channels, reason }, withinMs);
}

/** The same for an address, whoever has it. */
export async function haltAddress(
  place: Place,
  hash: Buffer,
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<void> {
  await halt(place, sendsAt(place, hash), { channels, reason }, STARTED_WITHIN_MS);
}

/**
 * Cancels what these players, and whom their bar concerns too, would still be sent on the channels. Answers how many
 * sends there were. Of what was to be repeated nobody can tell: the vendor may have it already.
 */
export async function cancelOpenSends(
  place: Place,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<number> {
  if (playerIds.length === 0) return 0;
  return cancel(place, sendsTo(place, playerIds), { channels, reason });
}

/**
 * Cancels until nothing is open nor between a claim and its record: what was on its way at first may be given back,
 * and claimed again before the caller commits. What is cancelled in this transaction cannot be claimed meanwhile: a
 * claim that held it was waited for, and another finds it cancelled.
 */
async function halt(place: Place, theirs: Fragment, bar: Bar, withinMs: number): Promise<void> {
  for (;;) {
    await cancel(place, theirs, bar);
    if (!(await mayStart(place, theirs, bar, withinMs))) return;
    await pause(LOOK_EVERY_MS);
  }
}

async function cancel({ sql, property }: Place, theirs: Fragment, bar: Bar): Promise<number> {
  const { reason } = bar;
  const forSharers = ADDRESSED.includes(reason) ? reason : "shared_address";
  const rows = await sql`
    with ${theirs}
    update campaign_sends s
    set status = case when repeats then 'unknown' else 'cancelled' end, updated_at = now(),
      skip_reasons = array[case when t.own then ${reason}::text else ${forSharers} end]
    from theirs t
    where s.property_id = ${property.id} and s.id = t.id and ${isOpen(sql, bar)}`;
  return rows.count;
}

/** Of one moment: whether a send of theirs is open, or was claimed so shortly ago and is not recorded yet. */
async function mayStart(
  { sql, property }: Place,
  theirs: Fragment,
  bar: Bar,
  withinMs: number,
): Promise<boolean> {
  // Not claimed_at: of what is sent once more, that is the first claim's.
  const [found] = await sql`
    with ${theirs}
    select from theirs t join campaign_sends s on s.property_id = ${property.id} and s.id = t.id
    where s.status = 'sending' and s.updated_at > clock_timestamp() - make_interval(secs => ${withinMs / 1_000})
      or ${isOpen(sql, bar)}
    limit 1`;
  return found !== undefined;
}

/** Of `campaign_sends s` among `theirs t`: what waits to be sent, and the bar forbids. */
function isOpen(sql: Sql, { channels, reason }: Bar): Fragment {
  return sql`((t.own or not ${OWN.includes(reason)}) and s.channel = any(${[...channels]}::text[])
    and s.status in ('pending', 'deferred'))`;
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
