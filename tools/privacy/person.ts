import type { Context } from "#runtime/operation.ts";
import { addressHash } from "#tools/players/address.ts";
import { identityHash } from "#tools/players/identity.ts";

/** Everything by which the property's records know one person. */
export interface Person {
  /** The id of the player's record. */
  id: string;
  /** Addresses in their stored form: the player's own, and former ones that nobody else has by now. */
  addresses: string[];
  /** Hex of their hashes, and of those that stand in for a player without an address. */
  hashes: string[];
  /** Hex. The addresses that the player has now. */
  ownHashes: string[];
  identityHash: Buffer | null;
  /** The operator's own identifier; null once it is erased. */
  externalId: string | null;
}

export interface KnownPlayer {
  id: string;
  player_id: string;
  status: string;
  legal_hold: boolean;
  email: string | null;
  phone: string | null;
  first_name: string | null;
  last_name: string | null;
  birth_date: string | null;
  email_hash: Buffer | null;
  phone_hash: Buffer | null;
}

/** The person behind a player's record. */
export async function personOf(context: Context, player: KnownPlayer): Promise<Person> {
  const { property } = context;
  const own = [player.email_hash, player.phone_hash].filter((hash) => hash !== null);
  const former = await formerAddresses(context, player.id);
  return {
    id: player.id,
    addresses: [...new Set([player.email, player.phone, ...former.addresses])].filter((one) => one !== null),
    hashes: [...new Set([...own.map(hex), ...former.hashes, hex(standIn(property.pepper, player.id))])],
    ownHashes: own.map(hex),
    identityHash: identityHash(property.pepper, player),
    externalId: player.player_id === player.id ? null : player.player_id,
  };
}

/** The hash by which lists know a player who has no address for a channel. */
export function standIn(pepper: Buffer, playerId: string): Buffer {
  return addressHash(pepper, `player:${playerId}`);
}

const hex = (bytes: Buffer) => bytes.toString("hex");

/** What the player had before. An address that is another player's by now is theirs, and left alone. */
async function formerAddresses({ sql, property }: Context, id: string) {
  const rows = await sql<{ hash: string | null; address: string | null }[]>`
    with known as (
      select address_hash as hash from consent_records
      where property_id = ${property.id} and player_id = ${id} and address_hash is not null
      union
      select address_hash from campaign_sends
      where property_id = ${property.id} and player_id = ${id} and address_hash is not null
    ), said as (
      select diff ->> 'email' as address from audit_logs where property_id = ${property.id} and entity_id = ${id}
      union
      select diff ->> 'phone' from audit_logs where property_id = ${property.id} and entity_id = ${id}
      union
      select s.address from suppressions s join known k on k.hash = s.address_hash where s.property_id = ${property.id}
    )
    select encode(hash, 'hex') as hash, null as address from known
    where not exists (select from players p where p.property_id = ${property.id} and p.email_hash = known.hash
        and p.id <> ${id} and p.deleted_at is null)
      and not exists (select from players p where p.property_id = ${property.id} and p.phone_hash = known.hash
        and p.id <> ${id} and p.deleted_at is null)
    union all
    select null, address from said
    where address <> ''
      and not exists (select from players p where p.property_id = ${property.id} and p.email = said.address
        and p.id <> ${id} and p.deleted_at is null)
      and not exists (select from players p where p.property_id = ${property.id} and p.phone = said.address
        and p.id <> ${id} and p.deleted_at is null)`;
  const addresses = rows.flatMap(({ address }) => (address === null ? [] : [address]));
  const hashes = rows.flatMap(({ hash }) => (hash === null ? [] : [hash]));
  return {
    addresses,
    hashes: [...hashes, ...addresses.map((one) => hex(addressHash(property.pepper, one)))],
  };
}
