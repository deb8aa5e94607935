import { sql as fragment } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Context } from "#runtime/operation/context.ts";
import { youngestBirth } from "#tools/compliance/gate.ts";
import { matchPerson, type PlayerValues } from "#tools/players/player.ts";
import { MOST_TAGS } from "#tools/players/rules.ts";
import type { PlayerStatus } from "#tools/statuses/players.ts";

/** Columns that are filled together: an address with its hash, a place with its country. */
const GROUPS: readonly (readonly string[])[] = [
  ["email", "email_hash", "email_status", "email_validated_at"],
  ["phone", "phone_hash", "phone_type"],
  ["country", "state", "postal_code"],
  ["first_name"],
  ["last_name"],
  ["birth_date"],
  ["tier"],
  ["adt"],
  ["coin_in"],
  ["lifetime_theo"],
  ["timezone"],
  ["language"],
  ["host_id"],
];

type Status = Exclude<PlayerStatus, "erased">;

/** How strict each status is: a merge keeps the strictest. An erased record is never merged. */
const STRICTNESS: Readonly<Record<Status, number>> = {
  active: 0,
  inactive: 1,
  vip_hold: 2,
  banned: 3,
  self_excluded: 4,
  deceased: 5,
};

/**
 * Fills the kept player's empty fields from the duplicate, and hides the duplicate, which points to the kept player from
 * then on. Answers the filled fields and the status. Throws `conflict` where an erasure has barred an address to fill,
 * or where the duplicate's birth date alone bars messages.
 */
export async function mergeValues(
  context: Context,
  keptId: string,
  duplicateId: string,
): Promise<{ filled: string[]; status: string }> {
  await checkAges(context, keptId, duplicateId);
  const [kept, duplicate] = await read(context, keptId, duplicateId);
  const groups = GROUPS.filter((names) => isEmpty(kept, names) && !isEmpty(duplicate, names));
  const taken = Object.fromEntries(groups.flat().map((name) => [name, duplicate[name]]));
  const values: PlayerValues = { ...kept, ...taken };
  const lists = await matchPerson(context, undefined, values, kept);
  if (lists.erased) {
    throw new Fault("conflict", {
      message: "The duplicate has an address that an erasure has barred. Remove the address from it first.",
    });
  }
  const statuses = [kept.status, duplicate.status, ...(lists.excluded ? ["self_excluded"] : [])];
  const status = (statuses as Status[]).reduce((one, other) =>
    STRICTNESS[other] > STRICTNESS[one] ? other : one,
  );
  await write(context, keptId, duplicateId, { ...values, status });
  return { filled: groups.map(([name]) => name!), status };
}

/** A birth date that bars the duplicate must not be lost behind another one. Throws `conflict`. */
async function checkAges({ sql, property }: Context, keptId: string, duplicateId: string): Promise<void> {
  const [lost] = await sql`${fragment`
    select from players k join players d on d.property_id = ${property.id} and d.id = ${duplicateId}
    where k.property_id = ${property.id} and k.id = ${keptId}
      and d.birth_date > ${youngestBirth(property)} and k.birth_date <= ${youngestBirth(property)}`}`;
  if (!lost) return;
  throw new Fault("conflict", {
    message: `The duplicate is under ${property.min_age} by its birth date, and the kept player is not. Correct the birth date that is wrong first.`,
  });
}

/** A group is empty where its first columns are: a status has a meaning only beside its email. */
function isEmpty(player: PlayerValues, names: readonly string[]): boolean {
  const telling = names[0] === "country" ? names : names.slice(0, 1);
  return telling.every((name) => player[name] === null);
}

async function read({ sql, property }: Context, keptId: string, duplicateId: string) {
  const players = await sql<(PlayerValues & { id: string })[]>`
    select id, status, email, email_hash, email_status, email_validated_at, phone, phone_hash, phone_type, country,
      state, postal_code, first_name, last_name, birth_date, tier, adt, coin_in, lifetime_theo, timezone, language,
      host_id
    from players where property_id = ${property.id} and id in (${keptId}, ${duplicateId})`;
  const byId = (id: string) => players.find((player) => player.id === id.toLowerCase())!;
  return [byId(keptId), byId(duplicateId)] as const;
}

async function write(
  { sql, property }: Context,
  keptId: string,
  duplicateId: string,
  values: PlayerValues,
): Promise<void> {
  const { email_hash, phone_hash, id: _, ...rest } = values;
  const hex = (hash: unknown) => (hash === null ? null : (hash as Buffer).toString("hex"));
  const row = { ...rest, email_hash: hex(email_hash), phone_hash: hex(phone_hash) };
  await sql`
    with clock as materialized (select now() as moment), v as materialized (
      select * from json_to_recordset(${[row]}::json) as v(status text, email text, email_hash text,
        email_status text, email_validated_at timestamptz, phone text, phone_hash text, phone_type text, country text,
        state text, postal_code text, first_name text, last_name text, birth_date date, tier text,
        adt double precision, coin_in double precision, lifetime_theo double precision, timezone text, language text,
        host_id uuid)
    )
    update players k
    set status = v.status, email = v.email, email_hash = decode(v.email_hash, 'hex'), email_status = v.email_status,
      email_validated_at = v.email_validated_at, phone = v.phone, phone_hash = decode(v.phone_hash, 'hex'),
      phone_type = v.phone_type, country = v.country, state = v.state, postal_code = v.postal_code,
      first_name = v.first_name, last_name = v.last_name, birth_date = v.birth_date, tier = v.tier, adt = v.adt,
      coin_in = v.coin_in, lifetime_theo = v.lifetime_theo, timezone = v.timezone, language = v.language,
      host_id = v.host_id, custom = d.custom || k.custom, last_visit_at = greatest(k.last_visit_at, d.last_visit_at),
      tags = array(
        select t from unnest(k.tags || d.tags) with ordinality u (t, place) group by t order by min(place)
        limit ${MOST_TAGS}),
      updated_at = clock.moment
    from clock, v, players d
    where k.property_id = ${property.id} and k.id = ${keptId} and d.property_id = ${property.id}
      and d.id = ${duplicateId}`;
  await sql`
    update players set merged_into = ${keptId}, deleted_at = now(), updated_at = now()
    where property_id = ${property.id} and id = ${duplicateId}`;
  await sql`
    update players set merged_into = ${keptId}, updated_at = now()
    where property_id = ${property.id} and merged_into = ${duplicateId}`;
}
