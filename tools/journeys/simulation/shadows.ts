import { type Fragment, identifier, join, raw, type Sql, sql } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";

/** The simulated people, and the players who share an address with one of them: the gate looks at both. */
const PEOPLE = "simulated_people";
const EVENTS = "player_events";

/** A table that a journey writes. */
interface Shadow {
  /** The rows of the simulated people as SQL over `t`. Default: none. */
  rows?: Fragment;
  /** The columns of its indexes, where a journey's steps use one. All rows are the property's: it comes last. */
  indexes?: readonly string[];
  /** Percent of a page that new rows fill. The rest takes a row's next version without work on the indexes. */
  fill?: number;
}

/**
 * Lays temporary tables and rows of these players over all tables that a journey writes, and then forbids the
 * transaction every other write. Names of tables mean the temporary ones from here on. `players`: rows of `id`.
 */
export async function shadowTables(
  { sql: transaction, property }: Tenant,
  players: Fragment,
  journeyId: string,
): Promise<void> {
  const own = sql`${property.id}::uuid`;
  await transaction`set local search_path = pg_temp, public`;
  await transaction`create temporary table ${raw(PEOPLE)} (id uuid primary key) on commit drop`;
  await transaction`
    with chosen as materialized (
      select p.id, p.email_hash, p.phone_hash from public.players p
      where p.property_id = ${own} and p.id in (${players})
    )
    insert into ${raw(PEOPLE)} (id)
    select id from chosen
    union select p.id from chosen c join public.players p on p.property_id = ${own} and p.email_hash = c.email_hash
    union select p.id from chosen c join public.players p on p.property_id = ${own} and p.phone_hash = c.phone_hash
    returning 1`;
  for (const [table, how] of Object.entries(shadows(own, journeyId))) {
    await shadow({ sql: transaction, property }, table, how);
  }
  const isCluster = await isDistributed(transaction);
  if (isCluster) await shadowOthers({ sql: transaction, property });
  await shadowEvents({ sql: transaction, property }, isCluster);
  await transaction`analyze ${raw([PEOPLE, "players", "campaign_sends", "segment_members"].join(", "))}`;
  await forbidWrites({ sql: transaction, property });
}

/** PostgreSQL itself refuses every write but those to temporary tables from here on, until the savepoint is released. */
async function forbidWrites({ sql: transaction }: Tenant): Promise<void> {
  await transaction`savepoint simulated`;
  await transaction`set transaction read only`;
}

/**
 * Writes the enrollments anew, without the versions that moves have replaced: no vacuum can remove those before the
 * transaction ends, and each search for a person reads them all.
 */
export async function compact(tenant: Tenant): Promise<void> {
  const { sql: transaction } = tenant;
  await transaction`release savepoint simulated`;
  await transaction`create temporary table current_enrollments on commit drop as select * from journey_enrollments`;
  await transaction`truncate journey_enrollments`;
  await transaction`insert into journey_enrollments select * from current_enrollments returning 1`;
  await transaction`drop table current_enrollments`;
  await transaction`
    analyze journey_enrollments (id, journey_id, node, phase, status, wake_at), campaign_sends (id, campaign_id, status)`;
  await forbidWrites(tenant);
}

function shadows(own: Fragment, journeyId: string): Record<string, Shadow> {
  const people = raw(PEOPLE);
  const ofPeople = (column: string) =>
    sql`t.property_id = ${own} and t.${identifier(column)} in (select id from ${people})`;
  return {
    players: {
      rows: ofPeople("id"),
      indexes: ["unique (id, property_id)", "(email_hash)", "(phone_hash)"],
    },
    segment_members: {
      rows: ofPeople("player_id"),
      indexes: ["unique (player_id, segment_id, property_id)"],
    },
    campaign_sends: {
      // Frequency rules count messages to an address, also those for other players.
      rows: sql`t.property_id = ${own} and t.id in (
        select s.id from ${people} w join public.campaign_sends s on s.property_id = ${own} and s.player_id = w.id
        union select s.id from ${people} w join players p on p.property_id = ${own} and p.id = w.id
          join public.campaign_sends s on s.property_id = ${own} and s.address_hash in (p.email_hash, p.phone_hash))`,
      indexes: [
        "unique (id, property_id)",
        "unique (dedupe_key, property_id)",
        "(campaign_id, id) where is_open",
        "(player_id)",
        "(address_hash)",
      ],
      fill: 40,
    },
    campaigns: {
      rows: sql`t.property_id = ${own} and t.id in (
        select s.campaign_id from campaign_sends s where s.property_id = ${own})`,
      indexes: ["unique (id, property_id)"],
    },
    game_tickets: { indexes: ["unique (property_id, game_id, player_id, key)"] },
    journeys: { rows: sql`t.property_id = ${own} and t.id <> ${journeyId}::uuid` },
    journey_enrollments: {
      rows: sql`${ofPeople("player_id")} and t.journey_id <> ${journeyId}::uuid`,
      indexes: [
        "(id)",
        "(node, phase, wake_at, player_id) where status = 'active'",
        "(node, arrived_at, player_id, id) where status = 'active' and phase = 'in_line'",
      ],
    },
    journey_counts: {
      indexes: ["unique (property_id, journey_id, version, from_node, edge, to_node, status)"],
    },
    journey_versions: {},
    journey_nodes: {},
    journey_limits: { indexes: ["unique (property_id, journey_id, node)"] },
    journey_triggers: {},
    campaign_claims: {},
    // Nobody hears of what is simulated.
    webhook_endpoints: {},
  };
}

/** A temporary table of the same name and columns. */
async function shadow(
  { sql: transaction }: Tenant,
  table: string,
  { rows, indexes = [], fill = 100 }: Shadow,
): Promise<void> {
  const name = identifier(table);
  await transaction`
    create temporary table ${name} (like public.${name} including defaults including generated) 
    with (fillfactor = ${raw(String(fill))}) on commit drop`;
  if (rows !== undefined) {
    const stored = await transaction<{ name: string }[]>`
      select attname as name from pg_attribute
      where attrelid = ${`public.${table}`}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
      order by attnum`;
    const columns = join(stored.map((column) => identifier(column.name)));
    await transaction`
      insert into ${name} (${columns}) select ${columns} from public.${name} t where ${rows} returning 1`;
  }
  for (const index of indexes) {
    const [unique, columns] = index.startsWith("unique ") ? ["unique", index.slice(7)] : ["", index];
    await transaction`create ${raw(unique)} index on ${name} ${raw(columns)}`;
  }
}

async function isDistributed(transaction: Sql): Promise<boolean> {
  const [row] = await transaction<{ answer: boolean }[]>`select is_distributed() as answer`;
  return row!.answer;
}

/**
 * Lays temporary tables over the tables that a journey only reads, too: a cluster joins no temporary table with those
 * of other nodes in one statement.
 */
async function shadowOthers(tenant: Tenant): Promise<void> {
  const own = sql`${tenant.property.id}::uuid`;
  const others = await tenant.sql<{ name: string; is_of_player: boolean }[]>`
    select c.relname as name, exists (
        select from pg_attribute a where a.attrelid = c.oid and a.attname = 'player_id' and not a.attisdropped
      ) as is_of_player
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relforcerowsecurity
      and not c.relispartition and c.relname <> all(${[...Object.keys(shadows(own, "")), EVENTS]}::text[])
      and has_table_privilege(c.oid, 'select')
    order by c.relname`;
  for (const { name, is_of_player } of others) {
    const rows = is_of_player
      ? sql`t.property_id = ${own} and t.player_id in (select id from ${raw(PEOPLE)})`
      : sql`t.property_id = ${own}`;
    await shadow(tenant, name, { rows });
  }
  // Its time zone is read in conditions and dates.
  await shadow(tenant, "properties", { rows: sql`t.id = ${own}` });
}

/** The events that are to come beside those that have. */
export const ASSUMED_EVENTS = raw("assumed_events");

/** The players' events with the assumed ones, which happen when the clock comes to them. */
async function shadowEvents({ sql: transaction, property }: Tenant, isCluster: boolean): Promise<void> {
  await transaction`
    create temporary table assumed_events (like public.player_events including defaults) on commit drop`;
  await transaction`create index on assumed_events (player_id, name, occurred_at)`;
  await transaction`create index on assumed_events (occurred_at)`;
  if (isCluster) {
    await transaction`
      create temporary table past_events on commit drop as
      select * from public.player_events
      where property_id = ${property.id}::uuid and player_id in (select id from ${raw(PEOPLE)})`;
    await transaction`create index on past_events (player_id, name, occurred_at)`;
  }
  await transaction`
    create temporary view player_events as
    select * from ${raw(isCluster ? "past_events" : "public.player_events")}
    union all
    select * from assumed_events where occurred_at <= current_setting('app.simulated_at')::timestamptz`;
}
