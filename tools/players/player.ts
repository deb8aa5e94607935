import { cast, type Fragment, join, sql } from "#db/sql.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { addressHash, normalizeEmail, normalizePhone } from "#tools/people/address.ts";
import { isBarred, isErasedBar, KEPT_BY_NUMBER, type KeptByNumber, numberHash } from "#tools/people/bars.ts";
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

interface Match {
  what: "merged" | "barred" | "erased" | "self_excluded";
  value: string | null;
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
  return listMatchesOf(await matches(context, listMatches(context, values, current)));
}

interface PersonMatches extends ListMatches {
  merged_into: string | null;
  /** The status that a deleted or erased record keeps for this player_id. */
  barred: KeptByNumber | null;
}

/** As `matchLists`, with the records that had this player_id, in one statement. */
export async function matchPerson(
  context: Context,
  playerId: string | undefined,
  values: PlayerValues,
  current: PlayerValues | null,
): Promise<PersonMatches> {
  const records = playerId === undefined ? [] : recordMatches(context, playerId);
  const found = await matches(context, [...records, ...listMatches(context, values, current)]);
  const barred = found.filter(({ what }) => what === "barred").map(({ value }) => value);
  return {
    merged_into: found.find(({ what }) => what === "merged")?.value ?? null,
    barred: KEPT_BY_NUMBER.findLast((status) => barred.includes(status)) ?? null,
    ...listMatchesOf(found),
  };
}

/** The rows of all queries. A cluster plans a query inside another one by itself, on two nodes, for each call. */
async function matches({ sql: transaction }: Context, queries: Fragment[]): Promise<Match[]> {
  if (queries.length === 0) return [];
  return transaction<Match[]>`${join(queries, " union all ")}`;
}

function listMatchesOf(found: Match[]): ListMatches {
  return {
    erased: found.some(({ what }) => what === "erased"),
    excluded: found.some(({ what }) => what === "self_excluded"),
  };
}

function recordMatches({ property }: Context, playerId: string): Fragment[] {
  const merged = sql`
    select 'merged' as what, m.merged_into::text as value from players m
    where m.property_id = ${property.id} and m.player_id = ${playerId}::text and m.merged_into is not null`;
  const barred = sql`
    select 'barred' as what, d.status as value from players d
    where ${isBarred({ property }, cast(playerId, "text"))}`;
  const erased = sql`
    select 'barred' as what, e.reason as value from suppressions e
    where ${isErasedBar({ property }, sql`${numberHash(property.pepper, playerId)}::bytea`)}`;
  return [merged, barred, erased];
}

/** Of the addresses and the name that there are. */
function listMatches({ property }: Context, values: PlayerValues, current: PlayerValues | null): Fragment[] {
  const isNew = (name: "email" | "phone") => current === null || values[name] !== current[name];
  // One equality for each address: row-level security lets `in` use no index.
  const listed = (hash: unknown, isNewToIt: boolean) => sql`
    select reason as what, null::text as value from suppressions
    where property_id = ${property.id} and address_hash = ${hash}::bytea and lifted_at is null
      and (reason = 'erased' and ${isNewToIt}::boolean
        or reason = 'self_excluded' and (expires_at is null or expires_at > now()))`;
  const excluded = (hash: Buffer) => sql`
    select 'self_excluded' as what, null::text as value from self_exclusions
    where property_id = ${property.id} and identity_hash = ${hash}::bytea
      and starts_at <= now() and (ends_at is null or ends_at > now())`;
  const name = identityHash(property.pepper, values);
  return [
    ...(values.email_hash ? [listed(values.email_hash, isNew("email"))] : []),
    ...(values.phone_hash ? [listed(values.phone_hash, isNew("phone"))] : []),
    ...(name ? [excluded(name)] : []),
  ];
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
