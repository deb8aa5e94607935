import { andVisible } from "#db/query/to-sql.ts";
import { type Fragment, identifier, join, sql } from "#db/sql.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { exampleId } from "./record-ids.ts";

/** Records that examples name where the oldest one of its table does not do. */
function chosen(propertyId: string): Record<string, Fragment> {
  const player = sql`players where deleted_at is null and status = 'active' and consents ->> 'email' = 'true'`;
  return {
    players: player,
    consent_records: sql`consent_records where player_id = (
      select id from ${player} and property_id = ${propertyId}::uuid order by id limit 1)`,
    campaigns: sql`campaigns where channel = 'email' and status = 'draft'`,
    "sms campaigns": sql`campaigns where channel = 'sms' and status = 'draft'`,
    "voice campaigns": sql`campaigns where channel = 'voice' and status = 'draft'`,
    journey_enrollments: sql`journey_enrollments where status = 'active'`,
    "inbox readers": sql`players where id = (
      select player_id from inbox_messages where property_id = ${propertyId}::uuid order by id limit 1)`,
    "push subscribers": sql`players where id = (
      select player_id from push_subscriptions where property_id = ${propertyId}::uuid order by id limit 1)`,
    games: sql`games where status = 'draft' and deleted_at is null`,
    "live games": sql`games where status = 'active' and draw = 'independent'`,
    "deck games": sql`games where draw = 'deck'`,
    game_prizes: sql`game_prizes where game_id = (
      select id from games where status = 'draft' and property_id = ${propertyId}::uuid order by id limit 1)`,
    "static segments": sql`segments where type = 'static'`,
  };
}

/** By the id of an example, the demo property's own record. Empty where there is no demo. */
export async function demoRecords({ config, db }: Service, catalog: Catalog): Promise<Map<string, string>> {
  if (!config.demo) return new Map();
  const [demo] = await db.asSystem(
    (system) => system<{ id: string }[]>`select id from properties where slug = 'demo'`,
  );
  if (!demo) return new Map();
  const oldest = [...catalog.tables.values()].map((table): [string, Fragment] => [
    table.name,
    sql`${identifier(table.name)} where true ${andVisible(readableOf(table))}`,
  ]);
  const found = Object.entries({ ...Object.fromEntries(oldest), ...chosen(demo.id) }).map(
    ([name, from]) =>
      sql`(select ${name}::text as name, id from ${from} and property_id = ${demo.id}::uuid order by id limit 1)`,
  );
  const rows = await db.asProperty(demo.id, (tenant) => tenant<Found[]>`${join(found, " union all ")}`, {
    readOnly: true,
  });
  const people = await db.asSystem(
    (system) => system<Found[]>`
    (select 'api_keys' as name, id from api_keys where property_id = ${demo.id} order by id limit 1)
    union all
    (select 'users', user_id from memberships where property_id = ${demo.id} order by user_id limit 1)`,
  );
  return new Map([
    [exampleId("properties"), demo.id],
    ...[...rows, ...people].map(({ name, id }): [string, string] => [exampleId(name), id]),
  ]);
}

interface Found {
  name: string;
  id: string;
}
