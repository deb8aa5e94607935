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
  const { sql, property } = context;
  const unbarred: number[] = [];
  const bars = rows.flatMap(({ row, choices, values }) =>
    choices.flatMap(({ channel, given }) => {
      const address = given ? null : addressFor(context, channel, values);
      if (!given && address === null) unbarred.push(row);
      if (address === null) return [];
      return [{ channel, address, hash: addressHash(property.pepper, address).toString("hex") }];
    }),
  );
  if (bars.length === 0) return unbarred;
  // "offset 0" makes the planner look each address up by itself, also where it estimates a higher cost.
  const written = await sql<{ id: string; fresh: boolean }[]>`
    with bars as materialized (
      select distinct channel, address, decode(hash, 'hex') as hash
      from jsonb_to_recordset(${bars}::jsonb) as r(channel text, address text, hash text)
    )
    insert into suppressions (property_id, id, channel, address, address_hash, reason, source)
    select ${property.id}, uuid_v7(), b.channel, b.address, b.hash, 'unsubscribed', 'import'
    from bars b
    where not exists (
      select from suppressions e
      where e.property_id = ${property.id} and e.address_hash = b.hash and e.reason = 'erased'
        and e.lifted_at is null offset 0)
    order by b.hash, b.channel
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set expires_at = null, updated_at = excluded.updated_at
    returning id, xmax = 0 as fresh`;
  const ids = written.filter(({ fresh }) => fresh).map(({ id }) => ({ id }));
  await emitMany(
    sql,
    property.id,
    "player.suppressed",
    sql`select to_jsonb(v) as object from (
      select s.id, s.channel, s.reason, s.campaign_id, s.player_id
      from jsonb_to_recordset(${ids}::jsonb) as w(id uuid)
      join suppressions s on s.property_id = ${property.id} and s.id = w.id) v`,
  );
  return unbarred;
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
