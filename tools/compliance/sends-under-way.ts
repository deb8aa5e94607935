import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "#db/database.ts";
import { literals } from "#db/sql.ts";
import { arrayLiteral } from "#db/types.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { WAITING_SENDS } from "#tools/statuses/sends.ts";
import type { Channel } from "./channels.ts";
import type { BlockReason } from "./gate.ts";

/** A message may be started up to this time after its claim. */
export const STARTED_WITHIN_MS = 1_000;
/** A slow vendor has a message so long after its start. A bar waits until then. */
const TAKEN_WITHIN_MS = STARTED_WITHIN_MS + 500;
const LOOK_EVERY_MS = 25;

type Fragment = ReturnType<Sql>;

/** These reasons concern the player alone: players who share the address stay reachable. */
const OWN: readonly BlockReason[] = ["dnc", "no_consent", "reassigned_number"];
/** These reasons concern the address, for every player who has it. */
const ADDRESSED: readonly BlockReason[] = ["suppressed"];

interface Bar {
  channels: readonly Channel[];
  reason: BlockReason;
}

/**
 * Stops sends that are under way, before the caller writes the row that bars all later ones. Open sends are cancelled,
 * and vendors have the messages that have started when this resolves: nothing is sent after the caller's answer. Callers
 * that need the outcomes recorded too pass a longer `withinMs`.
 */
export async function stopSends(
  tenant: Tenant,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
  { withinMs = TAKEN_WITHIN_MS }: { withinMs?: number } = {},
): Promise<void> {
  if (playerIds.length === 0) return;
  await stop(tenant, sendsTo(tenant, playerIds), { channels, reason }, withinMs);
}

/** As `stopSends`, for addresses and every player who has one of them. */
export async function stopAddressSends(
  tenant: Tenant,
  hashes: readonly Buffer[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<void> {
  if (hashes.length === 0) return;
  await stop(tenant, sendsAt(tenant, hashes), { channels, reason }, TAKEN_WITHIN_MS);
}

/**
 * Cancels the open sends to these players on the channels, and to players who share a barred address. Answers the
 * number of sends. A send that waits to be repeated becomes `unknown`: the vendor may have it.
 */
export async function cancelOpenSends(
  tenant: Tenant,
  playerIds: string[],
  channels: readonly Channel[],
  reason: BlockReason,
): Promise<number> {
  if (playerIds.length === 0) return 0;
  return cancel(tenant, sendsTo(tenant, playerIds), { channels, reason });
}

/**
 * Cancels until no send is open, and none is between its claim and its record. A claimed send may be returned, and
 * claimed again before the caller commits. A claim cannot take a cancelled send: this update waits for earlier claims,
 * and later claims see the cancellation.
 */
async function stop(tenant: Tenant, targets: Fragment, bar: Bar, withinMs: number): Promise<void> {
  for (;;) {
    await cancel(tenant, targets, bar);
    if (!(await mayStart(tenant, targets, bar, withinMs))) return;
    await pause(LOOK_EVERY_MS);
  }
}

async function cancel({ sql, property }: Tenant, targets: Fragment, bar: Bar): Promise<number> {
  const { reason } = bar;
  const forSharers = ADDRESSED.includes(reason) ? reason : "shared_address";
  const rows = await sql`
    with ${targets}
    update campaign_sends s
    set status = case when repeats then 'unknown' else 'cancelled' end, updated_at = now(),
      skip_reasons = array[case when t.own then ${reason}::text else ${forSharers} end]
    from targets t
    where s.property_id = ${property.id} and s.id = t.id and ${isOpen(sql, bar)}`;
  return rows.count;
}

/** In one snapshot: whether one of the sends is open, or was claimed within `withinMs` and has no outcome. */
async function mayStart(
  { sql, property }: Tenant,
  targets: Fragment,
  bar: Bar,
  withinMs: number,
): Promise<boolean> {
  // Not claimed_at: a repeated send keeps the time of its first claim.
  const [found] = await sql`
    with ${targets}
    select from targets t join campaign_sends s on s.property_id = ${property.id} and s.id = t.id
    where s.status = 'sending' and s.updated_at > clock_timestamp() - make_interval(secs => ${withinMs / 1_000})
      or ${isOpen(sql, bar)}
    limit 1`;
  return found !== undefined;
}

/** Over `campaign_sends s` and `targets t`: the send waits, and the bar forbids it. */
function isOpen(sql: Sql, { channels, reason }: Bar): Fragment {
  return sql`((t.own or not ${OWN.includes(reason)}) and s.channel = any(${[...channels]}::text[])
    and s.status in (${literals(WAITING_SENDS)}))`;
}

/** A CTE of the sends to these addresses. */
function sendsAt({ sql, property }: Tenant, hashes: readonly Buffer[]): Fragment {
  return sql`
    targets as (
      select id, true as own from campaign_sends
      where property_id = ${property.id} and address_hash = any(${arrayLiteral([...hashes])}::bytea[]))`;
}

/** A CTE of the sends to these players and to the addresses that they have. */
function sendsTo({ sql, property }: Tenant, playerIds: string[]): Fragment {
  return sql`
    addresses as materialized (
      select unnest(array[email_hash, phone_hash]) as hash from players
      where property_id = ${property.id} and id = any(${playerIds}::uuid[])
    ), targets as materialized (
      select id, bool_or(own) as own from (
        select id, true as own from campaign_sends
        where property_id = ${property.id} and player_id = any(${playerIds}::uuid[])
        union all
        select s.id, false from addresses w
          join campaign_sends s on s.property_id = ${property.id} and s.address_hash = w.hash
      ) s group by id
    )`;
}
