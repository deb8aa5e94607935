import { cast, join } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
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
      throw invalid(
        "phone",
        `is not a possible phone number; give it as +12025550123, or as dialed in ${home}`,
      );
    }
    values.phone = phone;
    values.phone_hash = phone === null ? null : addressHash(property.pepper, phone);
  }
  return values;
}

interface PersonMatches {
  /** An erasure of another player has barred one of the addresses. */
  erased: boolean;
  excluded: boolean;
  merged_into: string | null;
  /** The status that a deleted or erased record keeps for this player_id. */
  barred: KeptByNumber | null;
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
  const number = playerId === undefined ? null : numberHash(context.property.pepper, playerId);
  // One table a statement, for which a cluster has a short way. All go in one round trip.
  const [former, listed, isNamed] = await Promise.all([
    playerId === undefined ? [] : formerRecords(context, playerId),
    listedUnder(context, [number, values.email_hash, values.phone_hash]),
    isExcludedByName(context, values),
  ]);
  const of = (hash: unknown) => listed.filter((one) => hash && one.hash === (hash as Buffer).toString("hex"));
  const isErased = (name: "email" | "phone") =>
    (current === null || values[name] !== current[name]) &&
    of(values[`${name}_hash`]).some(({ reason }) => reason === "erased");
  const ofAddresses = [...of(values.email_hash), ...of(values.phone_hash)];
  const kept = [...former.map(({ status }) => status), ...of(number).map(({ reason }) => reason)];
  return {
    erased: isErased("email") || isErased("phone"),
    excluded: isNamed || ofAddresses.some(({ reason }) => reason === "self_excluded"),
    merged_into: former.find(({ merged_into }) => merged_into !== null)?.merged_into ?? null,
    barred: KEPT_BY_NUMBER.findLast((status) => kept.includes(status)) ?? null,
  };
}

/** Of the deleted records that had this player_id: where it leads now, or the status that bars its person. */
async function formerRecords({ sql, property }: Context, playerId: string) {
  return sql<{ status: string | null; merged_into: string | null }[]>`
    select case when merged_into is null then status end as status, merged_into from players d
    where property_id = ${property.id} and player_id = ${playerId} and deleted_at is not null
      and (merged_into is not null or ${IS_BARRED})`;
}

/** The suppressions in force that an erasure, a ban or a self-exclusion has left. */
async function listedUnder({ sql, property }: Context, hashes: unknown[]) {
  const given = hashes.filter((hash) => hash);
  if (given.length === 0) return [];
  return sql<{ hash: string; reason: string }[]>`
    select encode(address_hash, 'hex') as hash, reason from suppressions
    where property_id = ${property.id} and address_hash in (${join(given.map((hash) => cast(hash, "bytea")))})
      and lifted_at is null and reason in ('erased', 'banned', 'self_excluded')
      and (reason <> 'self_excluded' or expires_at is null or expires_at > now())`;
}

async function isExcludedByName({ sql, property }: Context, values: PlayerValues): Promise<boolean> {
  const name = identityHash(property.pepper, values);
  if (!name) return false;
  const excluded = await sql`
    select from self_exclusions
    where property_id = ${property.id} and identity_hash = ${name}
      and starts_at <= now() and (ends_at is null or ends_at > now())`;
  return excluded.length > 0;
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
