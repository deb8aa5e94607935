import { byteaLiteral } from "#db/types.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import {
  addressHash,
  isSameAddress,
  noPhone,
  normalizeEmail,
  normalizePhone,
} from "#tools/people/address.ts";
import { IS_BARRED, numberHash } from "#tools/people/bars.ts";
import { identityHash } from "#tools/people/identity.ts";
import { FREE_STATUSES, isStatus, KEPT_BY_NUMBER, type KeptByNumber } from "#tools/statuses/players.ts";

/** A player's current or future values, as far as they are known. */
export type PlayerValues = Record<string, unknown>;

/** The email and phone of `input` in their stored form, with their hashes. Throws `invalid`. */
export function storedAddresses(
  { property }: Pick<Context, "property">,
  input: PlayerValues,
  country: unknown,
) {
  const values: PlayerValues = {};
  if (input.email !== undefined) {
    const email = input.email === null ? null : normalizeEmail(String(input.email));
    if (email === null && input.email !== null) throw invalid("email", "is not an email address");
    values.email = email;
    values.email_hash = email === null ? null : addressHash(property.pepper, email);
  }
  if (input.phone !== undefined) {
    const home = String(country ?? property.default_country);
    const phone = input.phone === null ? null : normalizePhone(String(input.phone), home);
    if (phone === null && input.phone !== null) {
      throw invalid("phone", noPhone(home));
    }
    values.phone = phone;
    values.phone_hash = phone === null ? null : addressHash(property.pepper, phone);
  }
  return values;
}

export interface PersonMatches {
  /** An erasure of another player has barred one of the addresses. */
  erased: boolean;
  excluded: boolean;
  merged_into: string | null;
  /** The status that a deleted or erased record keeps for this player_id. */
  barred: KeptByNumber | null;
}

/** New values of a person. `current` is the record that gets them; null for a new one. */
export interface Person {
  /** A player_id that the record does not have yet. */
  playerId: string | undefined;
  values: PlayerValues;
  current: PlayerValues | null;
}

/**
 * Checks new values against the property's lists, and against the records that had this player_id. `current` keeps an
 * address that an erasure of another player has barred; no other player can get it.
 */
export async function matchPerson(
  context: Context,
  playerId: string | undefined,
  values: PlayerValues,
  current: PlayerValues | null,
): Promise<PersonMatches> {
  const [found] = await matchPersons(context, [{ playerId, values, current }]);
  return found!;
}

/** The same for many at once. */
export async function matchPersons(context: Context, persons: readonly Person[]): Promise<PersonMatches[]> {
  const { pepper } = context.property;
  const hashed = persons.map(({ playerId, values, current }) => ({
    playerId,
    number: playerId === undefined ? null : hex(numberHash(pepper, playerId)),
    email: hex(values.email_hash),
    phone: hex(values.phone_hash),
    name: hex(identityHash(pepper, values)),
    isNew: (name: "email" | "phone") => current === null || !isSameAddress(values[name], current[name]),
  }));
  // One table a statement, for which a cluster has a short way. All go in one round trip.
  const [former, listed, named] = await Promise.all([
    formerRecords(context, given(hashed.map(({ playerId }) => playerId))),
    listedUnder(context, given(hashed.flatMap(({ number, email, phone }) => [number, email, phone]))),
    excludedByName(context, given(hashed.map(({ name }) => name))),
  ]);
  return hashed.map(({ playerId, number, email, phone, name, isNew }) => {
    const ofAddresses = [...listed(email), ...listed(phone)];
    const records = former(playerId);
    const kept = [...records.map(({ status }) => status), ...listed(number).map(({ reason }) => reason)];
    const isErased = (hash: string | null) => listed(hash).some(({ reason }) => reason === "erased");
    return {
      erased: (isNew("email") && isErased(email)) || (isNew("phone") && isErased(phone)),
      excluded: named(name).length > 0 || ofAddresses.some(({ reason }) => reason === "self_excluded"),
      merged_into: records.find(({ merged_into }) => merged_into !== null)?.merged_into ?? null,
      barred: KEPT_BY_NUMBER.findLast((status) => kept.includes(status)) ?? null,
    };
  });
}

function hex(hash: unknown): string | null {
  return hash ? (hash as Buffer).toString("hex") : null;
}

function given(texts: (string | null | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => text !== null && text !== undefined))];
}

/** Rows by the value by which they were looked for. */
type Found<R> = (key: string | null | undefined) => R[];

function foundBy<R extends { key: string }>(rows: readonly R[]): Found<R> {
  const found = Map.groupBy(rows, ({ key }) => key);
  return (key) => found.get(key ?? "") ?? [];
}

interface Former {
  key: string;
  status: string | null;
  merged_into: string | null;
}

/** Of the deleted records that had a player_id: where it leads now, or the status that bars its person. */
async function formerRecords({ sql, property }: Context, playerIds: string[]): Promise<Found<Former>> {
  if (playerIds.length === 0) return foundBy<Former>([]);
  const rows = await sql<Former[]>`
    select player_id as key, case when merged_into is null then status end as status, merged_into from players d
    where property_id = ${property.id} and player_id = any(${playerIds}::text[]) and deleted_at is not null
      and (merged_into is not null or ${IS_BARRED})`;
  return foundBy(rows);
}

interface Listed {
  key: string;
  reason: string;
}

/** The suppressions in force that an erasure, a ban or a self-exclusion has left, by their hashes. */
async function listedUnder({ sql, property }: Context, hashes: string[]): Promise<Found<Listed>> {
  if (hashes.length === 0) return foundBy<Listed>([]);
  const rows = await sql<Listed[]>`
    select encode(address_hash, 'hex') as key, reason from suppressions
    where property_id = ${property.id} and address_hash = any(${byteaLiteral(hashes)}::bytea[])
      and lifted_at is null and reason in ('erased', 'banned', 'self_excluded')
      and (reason <> 'self_excluded' or expires_at is null or expires_at > now())`;
  return foundBy(rows);
}

async function excludedByName({ sql, property }: Context, hashes: string[]): Promise<Found<{ key: string }>> {
  if (hashes.length === 0) return foundBy<{ key: string }>([]);
  const rows = await sql<{ key: string }[]>`
    select encode(identity_hash, 'hex') as key from self_exclusions
    where property_id = ${property.id} and identity_hash = any(${byteaLiteral(hashes)}::bytea[])
      and starts_at <= now() and (ends_at is null or ends_at > now())`;
  return foundBy(rows);
}

/** Refuses to set or leave a status that only functions change. */
export function checkStatus(wanted: unknown, current: unknown): void {
  if (wanted === undefined || wanted === current) return;
  const free = FREE_STATUSES.join(", ");
  if (current !== undefined && !isStatus(FREE_STATUSES, current)) {
    throw new Fault("conflict", {
      message: `The player is ${current}; this operation cannot change that.`,
    });
  }
  if (!isStatus(FREE_STATUSES, wanted)) {
    throw invalid(
      "status",
      `cannot be ${wanted} here, because a function of its own sets that; allowed: ${free}`,
    );
  }
}
