import { byteaLiteral } from "#db/types.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { RowOf } from "#runtime/operation/table.ts";
import { addressHash, writtenForms } from "#tools/people/address.ts";
import { identityHash } from "#tools/people/identity.ts";
import type players from "#tools/players/players.table.ts";

/** All identifiers by which the property's records know one person. */
export interface Person {
  /** The id of the player's record. */
  id: string;
  /**
   * Addresses in the forms that texts may have, present and former, that no other player has: text with one of them is
   * about the person.
   */
  addresses: string[];
  /** Hashes of these addresses in hex, and the stand-in hash of a player without an address. */
  hashes: string[];
  /** Hex. The player's present addresses, including those that another player has too. */
  ownHashes: string[];
  /** The player's former addresses that no player has now. */
  former: Pick<Known, "hash" | "isEmail">[];
  identityHash: Buffer | null;
  /** The first and the last name, where they tell of a person and no other player has both. */
  fullName: [first: string, last: string] | null;
  /** The operator's own identifier; null once it is erased. */
  externalId: string | null;
}

export type KnownPlayer = Pick<
  RowOf<typeof players.columns>,
  "id" | "player_id" | "status" | "legal_hold" | "email" | "phone" | "first_name" | "last_name" | "birth_date"
>;

/** The person behind a player's record. */
export async function personOf(context: Context, player: KnownPlayer): Promise<Person> {
  const { property } = context;
  const present = [player.email, player.phone]
    .filter((address) => address !== null)
    .map((address) => knownAddress(property, address));
  const all: Known[] = [...present, ...(await formerAddresses(context, player.id))];
  const owners = await ownersOf(
    context,
    player.id,
    all.map(({ hash }) => hash),
  );
  const known = all.filter(({ hash }) => !owners.has(hash));
  return {
    id: player.id,
    addresses: [...new Set(known.flatMap(({ address }) => (address === null ? [] : writtenForms(address))))],
    hashes: [...new Set([...known.map(({ hash }) => hash), hex(standIn(property.pepper, player.id))])],
    ownHashes: present.map(({ hash }) => hash),
    former: known.filter(({ hash }) => !present.some((one) => one.hash === hash)),
    identityHash: identityHash(property.pepper, player),
    fullName: await fullNameOf(context, player),
    externalId: player.player_id === player.id ? null : player.player_id,
  };
}

/** A name of few letters may be two ordinary words. */
const TELLING_NAME = 6;

async function fullNameOf(
  { sql, property }: Context,
  { id, first_name: first, last_name: last }: KnownPlayer,
): Promise<Person["fullName"]> {
  if (!first || !last || first.length + last.length < TELLING_NAME) return null;
  const others = await sql`
    select from players where property_id = ${property.id} and id <> ${id} and deleted_at is null
      and first_name = any(${spellings(first)}::text[]) and last_name = any(${spellings(last)}::text[]) limit 1`;
  return others.length > 0 ? null : [first, last];
}

/** By equality, which an index answers: under row-level security it answers nothing that ignores case. */
function spellings(name: string): string[] {
  const small = name.toLowerCase();
  const capital = small.replace(/(?<![\p{L}\p{M}])\p{L}/gu, (letter) => letter.toUpperCase());
  return [...new Set([name, small, capital, name.toUpperCase()])];
}

/** Other players with one of the person's present addresses, deleted ones too: their data is still stored. */
export async function sharersOf({ sql, property }: Context, { id, ownHashes }: Person): Promise<string[]> {
  const hashes = byteaLiteral([...new Set(ownHashes)]);
  const other = sql`o.property_id = ${property.id} and o.status <> 'erased'`;
  const rows = await sql<{ id: string }[]>`
    select coalesce(o.merged_into, o.id) as id from players o
    where ${other} and o.email_hash = any(${hashes}::bytea[])
    union
    select coalesce(o.merged_into, o.id) from players o
    where ${other} and o.phone_hash = any(${hashes}::bytea[])`;
  return rows.flatMap((row) => (row.id === id ? [] : [row.id])).sort();
}

interface Known {
  /** Null when the ledger has only the hash. */
  address: string | null;
  /** Hex. */
  hash: string;
  isEmail: boolean;
}

function knownAddress({ pepper }: Context["property"], address: string): Known {
  return { address, hash: hex(addressHash(pepper, address)), isEmail: address.includes("@") };
}

/** The other players who have an address now, by its hash: couples share one, and numbers are reassigned. */
async function ownersOf(
  { sql, property }: Context,
  id: string,
  known: readonly string[],
): Promise<Map<string, string[]>> {
  const hashes = byteaLiteral([...new Set(known)]);
  const live = sql`o.property_id = ${property.id} and o.id <> ${id} and o.deleted_at is null`;
  const rows = await sql<{ hash: string; id: string }[]>`
    select encode(h, 'hex') as hash, o.id from unnest(${hashes}::bytea[]) as h
      join players o on o.email_hash = h and ${live}
    union
    select encode(h, 'hex'), o.id from unnest(${hashes}::bytea[]) as h
      join players o on o.phone_hash = h and ${live}`;
  const owners = new Map<string, string[]>();
  for (const row of rows) owners.set(row.hash, [...(owners.get(row.hash) ?? []), row.id]);
  return owners;
}

/** The hash in lists for a player without an address for a channel. */
export function standIn(pepper: Buffer, playerId: string): Buffer {
  return addressHash(pepper, `player:${playerId}`);
}

const hex = (bytes: Buffer) => bytes.toString("hex");

/** The player's former addresses, as far as the ledgers have them. */
async function formerAddresses({ sql, property }: Context, id: string): Promise<Known[]> {
  const rows = await sql<({ hash: string; email: boolean; address: null } | { address: string })[]>`
    with known as (
      select address_hash as hash, channel = 'email' as email from consent_records
      where property_id = ${property.id} and player_id = ${id} and address_hash is not null
      union
      select address_hash, channel = 'email' from campaign_sends
      where property_id = ${property.id} and player_id = ${id} and address_hash is not null
    ), said as (
      select diff ->> 'email' as address from audit_logs where property_id = ${property.id} and entity_id = ${id}
      union
      select diff ->> 'phone' from audit_logs where property_id = ${property.id} and entity_id = ${id}
      union
      select s.address from suppressions s join known k on k.hash = s.address_hash where s.property_id = ${property.id}
      union
      select address from suppressions where property_id = ${property.id} and player_id = ${id}
    )
    select encode(hash, 'hex') as hash, email, null as address from known
    union all
    select null, null, address from said where address <> ''`;
  return rows.map((row) =>
    row.address === null ? { ...row, isEmail: row.email } : knownAddress(property, row.address),
  );
}
