import type { Fragment } from "#db/sql.ts";
import { sql as part, raw } from "#db/sql.ts";
import type { Context } from "#runtime/operation/context.ts";
import {
  CONTACTABLE_STATUSES,
  isStatus,
  PLAYER_STATUSES,
  type PlayerStatus,
} from "#tools/statuses/players.ts";
import { announceSuppressed, WRITTEN, type WrittenSuppression } from "./suppression-events.ts";

/** A player's record that lets go of its email or its phone. */
export interface Leaving {
  id: string;
  email: boolean;
  phone: boolean;
}

/** The statuses that stay on an address that a record lets go of. An erased record has none. */
export const LEFT_BARRED = PLAYER_STATUSES.filter(
  (status) => status !== "erased" && !isStatus(CONTACTABLE_STATUSES, status),
);

/** Those of them that bar it for as long as the record has them. Nobody lifts a self-exclusion, also one that had an end. */
const BARRING_STATUSES = LEFT_BARRED.filter((status) => status !== "self_excluded");

/** The source of a suppression that several records have caused. No parameter: `do update set` takes none on a cluster. */
const SEVERAL = raw("'several players'");

/** Whether a record has a bar that must stay on an address that it lets go of. */
export function isBarring({ status, consents }: { status: PlayerStatus; consents: object }): boolean {
  return isStatus(LEFT_BARRED, status) || Object.values(consents).includes(false);
}

/**
 * Suppresses the addresses that these records are about to let go of: a later record with the address must not be
 * written to. A refusal bars its channels, dated by the refusal; the status of the record bars all. A suppression that
 * several records have caused does not end with one of them. It keeps the first one's id: that person's erasure finds it.
 */
export async function barLeftAddresses(context: Context, leaving: readonly Leaving[]): Promise<void> {
  if (leaving.length === 0) return;
  const { sql, property } = context;
  const written = await sql<WrittenSuppression[]>`
    with leaving as materialized (
      select p.id, p.status, p.consents, p.updated_at, a.kind, a.address, a.hash
      from jsonb_to_recordset(${leaving}::jsonb) as l(id uuid, email boolean, phone boolean)
        join players p on p.property_id = ${property.id} and p.id = l.id
        cross join lateral (values ('email', p.email, p.email_hash, l.email), ('phone', p.phone, p.phone_hash, l.phone))
          as a(kind, address, hash, leaves)
      where a.leaves and a.hash is not null
    ), refused as (
      select l.id, c.channel, l.address, l.hash, 'unsubscribed' as reason, 'refusal' as source, (
        select coalesce(max(r.occurred_at), l.updated_at) from consent_records r
        where r.property_id = ${property.id} and r.player_id = l.id and r.channel = c.channel and not r.consent_given)
        as since
      from leaving l cross join (values ('email', 'email'), ('phone', 'sms'), ('phone', 'voice')) as c(kind, channel)
      where c.kind = l.kind and l.consents ->> c.channel = 'false'
    ), barred as (
      select id, 'all' as channel, address, hash, ${reasonOf(part`status`)} as reason, status as source, updated_at as since
      from leaving where status = any(${[...LEFT_BARRED]}::text[])
    )
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source, player_id, updated_at)
    select ${property.id}::uuid, uuid_v7(), channel, min(address), hash, reason,
      case when count(distinct id) = 1 or reason = 'unsubscribed' then min(source) else ${SEVERAL} end,
      case when count(distinct id) = 1 or reason <> 'unsubscribed' then (array_agg(id order by id))[1] end,
      max(since)
    from (select * from refused union all select * from barred) b
    group by hash, channel, reason
    order by hash, channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = greatest(suppressions.updated_at, excluded.updated_at),
      source = case when suppressions.reason = 'unsubscribed' or suppressions.player_id is null
        or suppressions.player_id = excluded.player_id and excluded.source <> ${SEVERAL}
        then suppressions.source else ${SEVERAL} end
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}

/** A hold is lifted by each caller who may write; a ban and a death by people alone; a self-exclusion by nobody. */
function reasonOf(status: Fragment): Fragment {
  return part`case ${status} when 'vip_hold' then 'manual' when 'self_excluded' then 'self_excluded'
    else 'banned' end`;
}

/** Over `suppressions s`: it ends with the status of its player. */
export const ENDS_WITH_STATUS: Fragment = part`s.player_id is not null and s.lifted_at is null
  and s.source = any(${[...BARRING_STATUSES]}::text[]) and s.reason in ('banned', 'manual') and s.channel = 'all'`;

/** Lifts the suppressions of addresses that the players had while banned, deceased or on hold, which has ended. */
export async function freeLeftAddresses(
  { sql, property, call, emit }: Context,
  playerIds: readonly string[],
): Promise<void> {
  if (playerIds.length === 0) return;
  const lifted = await sql<{ id: string }[]>`
    with clock as materialized (select now() as moment)
    update suppressions s set lifted_at = clock.moment, lifted_by = ${call.actor.id}::uuid, updated_at = clock.moment
    from clock
    where s.property_id = ${property.id} and s.player_id = any(${[...playerIds]}::uuid[]) and ${ENDS_WITH_STATUS}
    returning s.id, s.channel, s.reason, s.campaign_id, s.player_id, s.lifted_at`;
  for (const row of lifted) emit("player.suppression_lifted", row);
}
