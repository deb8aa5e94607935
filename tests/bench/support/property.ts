import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { benchDatabase, keptDatabase } from "./database.ts";

/** A migrated database with one property, its key, and players. */
export interface BenchProperty {
  url: string;
  property: string;
  key: string;
  sql: postgres.Sql;
  close(): Promise<void>;
}

export async function openProperty(players = 0): Promise<BenchProperty> {
  const url = await (players > 0
    ? keptDatabase(`players_${players}`, (filling) => withPlayers(filling, players))
    : benchDatabase());
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const property = players > 0 ? await onlyProperty(sql) : await addProperty(sql, "bench", 0);
  const { secret, prefix, hash } = newApiKey();
  await sql`
    insert into api_keys (property_id, name, key_prefix, key_hash, rate_limit)
    values (${property}, 'bench', ${prefix}, ${hash}, 1000000000)`;
  return { url, property, key: secret, sql, close: () => sql.end() };
}

async function withPlayers(url: string, players: number): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await addProperty(sql, "bench", players);
  await sql`vacuum analyze players`;
  await sql.end();
}

async function onlyProperty(sql: postgres.Sql): Promise<string> {
  const [property] = await sql<{ id: string }[]>`select id from properties`;
  return property!.id;
}

/** One more property, with players; answers its id. */
export async function addProperty(sql: postgres.Sql, slug: string, players: number): Promise<string> {
  const property = randomUUID();
  await sql`insert into properties (id, name, slug) values (${property}, ${slug}, ${slug})`;
  if (players > 0) await addPlayers(sql, property, players);
  return property;
}

/** Players as a casino has them, registered over three years. The same ones at each run, but for their ids. */
async function addPlayers(sql: postgres.Sql, property: string, count: number): Promise<void> {
  await sql`
    insert into players (property_id, id, player_id, email, phone, first_name, last_name, tier, adt, coin_in,
      lifetime_theo, timezone, state, postal_code, country, birth_date, language, phone_type, consents, custom,
      last_visit_at, tags, email_hash, phone_hash, created_at)
    select ${property}, uuid_v7(), 'P-' || i, 'player.' || i || '@example.com', '+1702' || lpad(i::text, 7, '0'),
      (array['Ann', 'Bob', 'Carla', 'Dmitri', 'Eve', 'Farid', 'Grace', 'Hiro'])[1 + i % 8],
      (array['Archer', 'Brooks', 'Castillo', 'Dietrich', 'Ellis', 'Fontaine', 'Garcia'])[1 + i % 7],
      (array['Bronze', 'Silver', 'Gold', 'Platinum', 'Diamond'])[1 + i % 5],
      (i % 997) * 1.25, (i % 99991) * 10.5, (i % 9973) * 7.75, 'America/Los_Angeles',
      (array['NV', 'CA', 'AZ', 'UT'])[1 + i % 4], (89000 + i % 1000)::text, 'US',
      date '1950-01-01' + i % 18000, 'en-US', 'mobile',
      jsonb_build_object('email', i % 10 <> 0, 'sms', i % 3 = 0),
      jsonb_build_object('host', 'H' || i % 40, 'points', i % 5000, 'vip', i % 50 = 0),
      now() - make_interval(hours => i % 9000),
      case when i % 4 = 0 then array['slots', 'vip'] else array['tables'] end,
      sha256(convert_to('e' || i, 'UTF8')), sha256(convert_to('p' || i, 'UTF8')),
      now() - interval '3 years' + i * (interval '3 years' / ${count})
    from generate_series(1, ${count}::int) i`;
}
