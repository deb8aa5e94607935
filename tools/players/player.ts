import { cast, type Fragment, sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { barOf, type KeptByNumber } from "#tools/people/bars.ts";
import { identityHash } from "#tools/people/identity.ts";
import { FREE_STATUSES, type PlayerStatus } from "#tools/people/statuses.ts";

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

interface ListMatches {
  erased: boolean;
  excluded: boolean;
}

/**
 * Checks new values against the property's lists. `current` keeps an address that an erasure of another player has
 * barred; no other player can get it.
 */
export async function matchLists(
  context: Context,
  values: PlayerValues,
  current: PlayerValues | null = null,
): Promise<ListMatches> {
  const [row] = await context.sql<ListMatches[]>`${listMatches(context, values, current)}`;
  return row!;
}

interface PersonMatches extends ListMatches {
  merged_into: string | null;
  /** The status that a deleted record keeps for this player_id. */
  barred: KeptByNumber | null;
}

/** As `matchLists`, with the records that had this player_id, in one statement. */
export async function matchPerson(
  context: Context,
  playerId: string | undefined,
  values: PlayerValues,
  current: PlayerValues | null,
): Promise<PersonMatches> {
  const merged = sql`
    select merged_into from players
    where property_id = ${context.property.id} and player_id = ${playerId ?? null}::text and merged_into is not null
    limit 1`;
  const [row] = await context.sql<PersonMatches[]>`
    select (${merged}) as merged_into, (${barOf(context, cast(playerId ?? null, "text"))}) as barred, l.erased, l.excluded
    from (${listMatches(context, values, current)}) l`;
  return row!;
}

function listMatches({ property }: Context, values: PlayerValues, current: PlayerValues | null): Fragment {
  const isNew = (name: "email" | "phone") => current === null || values[name] !== current[name];
  // One equality for each address: row-level security lets `in` use no index.
  const listed = (hash: unknown, isNewToIt: boolean) => sql`
    select reason from suppressions
    where property_id = ${property.id} and address_hash = ${hash ?? null}::bytea and lifted_at is null
      and (reason = 'erased' and ${isNewToIt}::boolean
        or reason = 'self_excluded' and (expires_at is null or expires_at > now()))`;
  const excludedByName = sql`
    select from self_exclusions x
    where x.property_id = ${property.id} and x.identity_hash = ${identityHash(property.pepper, values)}::bytea
      and x.starts_at <= now() and (x.ends_at is null or x.ends_at > now())`;
  return sql`
    select coalesce(bool_or(s.reason = 'erased'), false) as erased,
      coalesce(bool_or(s.reason = 'self_excluded'), false) or exists (${excludedByName}) as excluded
    from (${listed(values.email_hash, isNew("email"))} union all ${listed(values.phone_hash, isNew("phone"))}) s`;
}

/** Refuses to set or leave a status that only functions change. */
export function checkStatus(wanted: unknown, current: unknown): void {
  if (wanted === undefined || wanted === current) return;
  const free = FREE_STATUSES.join(", ");
  if (current !== undefined && !FREE_STATUSES.includes(current as PlayerStatus)) {
    throw new Fault("conflict", {
      message: `The player is ${current}; this operation cannot change that.`,
    });
  }
  if (!FREE_STATUSES.includes(wanted as PlayerStatus)) {
    throw invalid(
      "status",
      `cannot be ${wanted} here, because a function of its own sets that; allowed: ${free}`,
    );
  }
}
