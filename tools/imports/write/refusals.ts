import { type Fragment, sql } from "#db/sql.ts";
import { emitMany } from "#runtime/funnel/outbox.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import type { Staged } from "#tools/imports/read/rows.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";

/**
 * Suppresses the addresses of rows that refuse a channel and have no player: another row or file may have a player with
 * the address. An erased person's address is already barred, and is not stored again. Answers the row of each refusal
 * without an address to bar.
 */
export async function suppressRefused(context: Context, rows: readonly Staged[]): Promise<number[]> {
  const { sql: transaction, property } = context;
  const unbarred: number[] = [];
  const bars = rows.flatMap(({ row, choices, values }) =>
    choices.flatMap(({ channel, given, occurredAt }) => {
      const address = given ? null : addressFor(context, channel, values);
      if (!given && address === null) unbarred.push(row);
      if (address === null) return [];
      const hash = addressHash(property.pepper, address).toString("hex");
      return [{ channel, address, hash, at: occurredAt }];
    }),
  );
  if (bars.length === 0) return unbarred;
  // "offset 0" makes the planner look each address up by itself, also where it estimates a higher cost.
  const written = await transaction<{ id: string; fresh: boolean }[]>`
    with bars as materialized (
      select channel, address, decode(hash, 'hex') as hash, case when bool_and(at is not null) then max(at) end as at
      from jsonb_to_recordset(${bars}::jsonb) as r(channel text, address text, hash text, at timestamptz)
      group by channel, address, hash
    )
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source)
    select ${property.id}, uuid_v7(), b.channel, b.address, b.hash, 'unsubscribed', 'import'
    from bars b
    where not exists (
      select from suppressions e
      where e.property_id = ${property.id} and e.address_hash = b.hash and e.reason = 'erased'
        and e.lifted_at is null offset 0)
      and not ${isLifted(property.id)}
    order by b.hash, b.channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = excluded.updated_at
    returning id, xmax = 0 as fresh`;
  const ids = written.filter(({ fresh }) => fresh).map(({ id }) => ({ id }));
  await emitMany(
    transaction,
    property.id,
    "player.suppressed",
    sql`select to_jsonb(v) as object from (
      select s.id, s.channel, s.reason, s.campaign_id, s.player_id
      from jsonb_to_recordset(${ids}::jsonb) as w(id uuid)
      join suppressions s on s.property_id = ${property.id} and s.id = w.id) v`,
  );
  return unbarred;
}

/**
 * Over `bars b`: a yes of the address's player that is later than the refusal has lifted such a bar before. A file that
 * is imported each night would take that yes back.
 */
function isLifted(propertyId: string): Fragment {
  return sql`exists (
    select from suppressions e
    where e.property_id = ${propertyId} and e.address_hash = b.hash and e.channel = b.channel
      and e.reason = 'unsubscribed' and e.lifted_at is not null and exists (
        select from players p join consent_records c on c.property_id = ${propertyId} and c.player_id = p.id
        where p.property_id = ${propertyId} and p.deleted_at is null and (p.email_hash = b.hash or p.phone_hash = b.hash)
          and c.channel = b.channel and c.action = 'granted' and c.occurred_at > b.at offset 0) offset 0)`;
}

function addressFor(
  { property }: Context,
  channel: Channel,
  { email, phone }: Staged["values"],
): string | null {
  if (channel === "push") return null;
  if (channel === "email") return normalizeEmail(email ?? "");
  return normalizePhone(phone ?? "", property.default_country);
}
