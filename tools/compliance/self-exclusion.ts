import { arrayLiteral } from "#db/types.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { Row } from "#runtime/operation/table.ts";
import { endFor } from "#tools/enrollments/end.ts";
import { identityHash } from "#tools/people/identity.ts";
import { CHANNELS } from "./channels.ts";
import { stopSends } from "./sends-under-way.ts";
import { announceSuppressed, WRITTEN, type WrittenSuppression } from "./suppression-events.ts";

export interface Exclusion {
  identity: { first_name: string; last_name: string; birth_date: string } | null;
  addressHashes: Buffer[];
  playerId: string | null;
  endsAt: string | null;
}

/**
 * Applies a self-exclusion. Its addresses are suppressed on all channels while it lasts, every player who is that
 * person becomes self_excluded, and open sends to them are cancelled.
 */
export async function applySelfExclusion(context: Context, exclusion: Exclusion): Promise<string[]> {
  const { sql, property, emit } = context;
  const { addressHashes: hashes, endsAt } = exclusion;
  await suppressExcluded(context, hashes, endsAt);
  const named = [exclusion.playerId, ...(await namesakes(context, exclusion.identity))].filter(
    (id) => id !== null,
  );
  const players = await sql<Row[]>`
    update players set status = 'self_excluded', updated_at = now()
    where property_id = ${property.id} and status not in ('self_excluded', 'deceased', 'erased') and id in (
      select id from players where property_id = ${property.id} and id = any(${named}::uuid[])
      union select p.id from players p, unnest(${arrayLiteral(hashes)}::bytea[]) as h
        where p.property_id = ${property.id} and p.email_hash = h
      union select p.id from players p, unnest(${arrayLiteral(hashes)}::bytea[]) as h
        where p.property_id = ${property.id} and p.phone_hash = h)
    returning id, player_id, status`;
  const ids = players.map((player) => player.id);
  await suppressAddressesOf(context, [...named, ...ids], endsAt);
  await stopSends(context, ids, CHANNELS, "self_excluded");
  await endFor(context, ids, "self_excluded");
  for (const player of players) emit("player.self_excluded", player);
  return ids;
}

/**
 * Suppresses the addresses of excluded players: every other record with them is barred too, even after this one is
 * deleted.
 */
export async function suppressAddressesOf(
  context: Context,
  playerIds: string[],
  endsAt: string | null = null,
): Promise<void> {
  if (playerIds.length === 0) return;
  const { sql, property } = context;
  const rows = await sql<{ hash: Buffer }[]>`
    select distinct h as hash from players p, unnest(array[p.email_hash, p.phone_hash]) as h
    where p.property_id = ${property.id} and p.id = any(${playerIds}::uuid[]) and h is not null order by 1`;
  await suppressExcluded(
    context,
    rows.map(({ hash }) => hash),
    endsAt,
  );
}

/** Two exclusions of one address end at the later time; an exclusion without an end is the latest. */
async function suppressExcluded(context: Context, hashes: Buffer[], endsAt: string | null): Promise<void> {
  if (hashes.length === 0) return;
  const { sql, property } = context;
  const written = await sql<WrittenSuppression[]>`
    insert into suppressions (property_id, id, channel, address_hash, reason, source, expires_at)
    select ${property.id}, uuid_v7(), 'all', h, 'self_excluded', 'self_exclusion', ${endsAt}
    from unnest(${arrayLiteral(hashes)}::bytea[]) as h
    on conflict (property_id, address_hash, channel, reason) where lifted_at is null
    do update set updated_at = excluded.updated_at,
      expires_at = nullif(greatest(coalesce(suppressions.expires_at, 'infinity'),
        coalesce(excluded.expires_at, 'infinity')), 'infinity')
    returning ${WRITTEN}`;
  announceSuppressed(context, written);
}

/** Players with the same name and date of birth. The index by date leaves few; names are compared as hashes. */
async function namesakes({ sql, property }: Context, identity: Exclusion["identity"]): Promise<string[]> {
  if (identity === null) return [];
  const wanted = identityHash(property.pepper, identity)!;
  const candidates = await sql<{ id: string; first_name: string | null; last_name: string | null }[]>`
    select id, first_name, last_name from players
    where property_id = ${property.id} and birth_date = ${identity.birth_date}`;
  return candidates
    .filter((one) =>
      identityHash(property.pepper, { ...one, birth_date: identity.birth_date })?.equals(wanted),
    )
    .map((one) => one.id);
}
