import { type Fragment, join, literals, sql } from "#db/sql.ts";
import { Fault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { quoted } from "#runtime/visible-text.ts";
import { LIVE_CAMPAIGNS } from "#tools/statuses/campaigns.ts";
import { LIVE_GAMES } from "#tools/statuses/games.ts";

/** A record that work under way may need. */
export type Used =
  | { noun: "segment" | "template" | "game" | "provider"; id: string }
  | { noun: "custom field"; key: string };

/** A person who decides reads no more. */
const MOST_NAMED = 5;

type User = "campaign" | "game" | "segment" | "journey";

/** For each kind of user, whether one of its rows names the record: SQL over its row `u`. */
type Uses = Partial<Record<User, Fragment>>;

/**
 * Refuses to delete a record, or to change its meaning, while work under way needs it. The refusal names that work: a
 * campaign that may still send, a game that is played, a segment, or a journey that players enter or are inside. Work that
 * begins meanwhile calls `lockUses`, so one of the two comes behind the other. `hint`: another way, in a sentence.
 */
export async function refuseUsed(tenant: Tenant, used: Used, hint?: string): Promise<void> {
  await refuse(tenant, used.noun, { ...usesOf(used), journey: inVersion(used) }, hint);
}

/**
 * Keeps the records that work names from a deletion until the work has begun or is refused, with its transaction. Call it
 * before those records are looked up, and behind locks of their rows: a deletion has its row by then.
 */
export async function lockUses({ sql: transaction, property }: Tenant): Promise<void> {
  await transaction`select pg_advisory_xact_lock_shared(${usesOfProperty(property.id)})`;
}

/**
 * The lock of `refuseUsed`. A call that changes some records and names others takes this one alone: two that held the
 * shared one would wait for each other.
 */
export async function lockChanges({ sql: transaction, property }: Tenant): Promise<void> {
  await transaction`select pg_advisory_xact_lock(${usesOfProperty(property.id)})`;
}

const usesOfProperty = (propertyId: string) => sql`hashtextextended(${`uses ${propertyId}`}, 0)`;

/** The same for a change that only journeys do not bear: by default, of any journey that names the record. */
export async function refuseUsedInJourney(
  tenant: Tenant,
  used: Used,
  { journey = inVersion(used), hint }: { journey?: Fragment; hint?: string } = {},
): Promise<void> {
  await refuse(tenant, used.noun, { journey }, hint);
}

/** A version of a journey that gives players a value of a custom field: one of these, or any. */
export function givesValue(key: string, values: readonly string[] | null): Fragment {
  const one = values?.map((value) => `@ == ${JSON.stringify(value)}`).join(" || ");
  return sql`u.definition @? ${`$.nodes[*].config.custom.${key}${one === undefined ? "" : ` ? (${one})`}`}::jsonpath`;
}

/** Whether players enter a version of the journey `j`, or are inside it. */
export function isLiveVersion(propertyId: string, version: Fragment): Fragment {
  return sql`(j.deleted_at is null and j.status in ('active', 'paused')
    and (${version} = j.current_version or exists (
      select from journey_enrollments e
      where e.property_id = ${propertyId}::uuid and e.journey_id = j.id and e.version = ${version}
        and e.status = 'active')))`;
}

/** The work under way that needs a record, in a sentence for each; see `refuseUsed`. */
export async function useWords(tenant: Tenant, used: Used): Promise<string[]> {
  const users = await usersOf(tenant, { ...usesOf(used), journey: inVersion(used) }, MOST_NAMED);
  return users.map((user) => sentence(user, used.noun));
}

async function refuse(tenant: Tenant, noun: Used["noun"], uses: Uses, hint?: string): Promise<void> {
  await lockChanges(tenant);
  const [user] = await usersOf(tenant, uses, 1);
  if (!user) return;
  const words = [sentence(user, noun), REMEDIES[user.kind](noun)];
  throw new Fault("conflict", { message: [...words, ...(hint === undefined ? [] : [hint])].join(" ") });
}

interface UserRow {
  kind: User;
  name: string;
  status: string | null;
}

function usersOf({ sql: transaction, property }: Tenant, uses: Uses, most: number): Promise<UserRow[]> {
  const parts = Object.entries(uses).map(([kind, names]) => rowsOf(property.id, kind as User, names));
  return transaction<UserRow[]>`${join(parts, " union all ")} limit ${most}`;
}

function sentence({ kind, name, status }: UserRow, noun: Used["noun"]): string {
  return `The ${kind} ${quoted(name)}${status === null ? "" : `, which is ${status},`} uses this ${noun}.`;
}

function rowsOf(propertyId: string, kind: User, names: Fragment): Fragment {
  const own = sql`u.property_id = ${propertyId}::uuid and ${names}`;
  switch (kind) {
    case "campaign":
      // The campaigns of a journey's messages never end: its versions tell whether it needs the record.
      return sql`select 'campaign' as kind, u.name, u.status from campaigns u
        where ${own} and u.deleted_at is null and u.journey_id is null and u.status in (${literals(LIVE_CAMPAIGNS)})`;
    case "game":
      return sql`select 'game' as kind, u.name, u.status from games u
        where ${own} and u.deleted_at is null and u.status in (${literals(LIVE_GAMES)})`;
    case "segment":
      return sql`select 'segment' as kind, u.name, null as status from segments u
        where ${own} and u.deleted_at is null`;
    case "journey":
      return sql`select 'journey' as kind, j.name, j.status from journey_versions u
          join journeys j on j.property_id = ${propertyId}::uuid and j.id = u.journey_id
        where ${own} and ${isLiveVersion(propertyId, sql`u.version`)}`;
  }
}

function usesOf(used: Used): Omit<Uses, "journey"> {
  if (used.noun === "custom field") {
    const named = `"custom.${used.key}"`;
    return {
      segment: sql`position(${named} in u.conditions::text || u.groups::text) > 0`,
      campaign: sql`position(${named} in u.conditions::text) > 0`,
    };
  }
  const id = sql`${used.id}::uuid`;
  switch (used.noun) {
    case "segment": {
      const named = `"segment.${used.id}"`;
      return {
        campaign: sql`(u.segment_id = ${id} or ${id} = any(u.exclude_segment_ids)
          or position(${named} in lower(u.conditions::text)) > 0)`,
        game: sql`u.segment_id = ${id}`,
        segment: sql`u.id <> ${id} and (${id} = any(u.exclude_segment_ids)
          or position(${named} in lower(u.conditions::text || u.groups::text)) > 0)`,
      };
    }
    case "template":
      return {
        campaign: sql`(u.template_id = ${id} or exists (
          select from jsonb_array_elements(u.ab_test -> 'variants') v where v ->> 'template_id' = ${used.id}))`,
      };
    case "game":
      return { campaign: sql`u.game_ticket ->> 'game_id' = ${used.id}` };
    case "provider":
      return { campaign: sql`u.provider_id = ${id}` };
  }
}

/** Whether a version names the record. It has its own copy of its templates' texts, so it needs no template. */
function inVersion(used: Used): Fragment {
  const named = sql`concat(u.definition, u.goal, u.exit_conditions, u.referred -> 'segments')`;
  if (used.noun === "template") return sql`false`;
  if (used.noun !== "custom field") return sql`position(${used.id} in lower(${named})) > 0`;
  return sql`(position(${`"custom.${used.key}"`} in ${named}) > 0 or ${givesValue(used.key, null)})`;
}

const PARTS = {
  segment: "audience",
  "custom field": "audience",
  template: "template",
  game: "game",
  provider: "provider",
} as const;

const REMEDIES: Record<User, (noun: Used["noun"]) => string> = {
  campaign: (noun) => `Give it another ${PARTS[noun]} first.`,
  // Its players were approved with it.
  game: () => "End it first.",
  segment: () => "Give it other rules first.",
  journey: (noun) =>
    `Publish it without the ${noun} first. Players inside an older version may need it until they leave.`,
};
