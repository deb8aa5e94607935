import { randomUUID } from "node:crypto";
import type { Database } from "#db/database.ts";
import type { ReadableTable } from "#db/query/readable-table.ts";
import { insertedValues } from "#db/sql.ts";

export const PROPERTY = "01900000-0000-7000-8000-00000000000a";
export const RIVAL = "01900000-0000-7000-8000-00000000000b";

export const readable: ReadableTable = {
  table: "players",
  visible: "deleted_at is null",
  columns: {
    id: { type: "uuid" },
    property_id: { type: "uuid" },
    player_id: { type: "text" },
    email: { type: "text" },
    first_name: { type: "text" },
    tier: { type: "text" },
    adt: { type: "double precision" },
    coin_in: { type: "bigint", sql: "coin_in::bigint" },
    birth_date: { type: "date" },
    custom: { type: "jsonb" },
    tags: { type: "text[]" },
    legal_hold: { type: "boolean" },
    is_vip: { type: "boolean", sql: "(custom ->> 'vip')::boolean" },
    last_visit_at: { type: "timestamptz" },
    created_at: { type: "timestamptz" },
  },
};

export interface Player {
  player_id: string;
  email?: string;
  first_name?: string;
  tier?: string;
  adt?: number;
  coin_in?: number;
  birth_date?: string;
  custom?: Record<string, unknown>;
  tags?: string[];
  legal_hold?: boolean;
  last_visit_at?: string;
  deleted_at?: string;
}

/** Most fields are absent, which is null, so that what a filter leaves out stands out. */
export const players: Player[] = [
  {
    player_id: "ann",
    tier: "Gold",
    adt: 100,
    email: "ann@example.com",
    tags: ["vip", "slots"],
    birth_date: "1990-05-01",
    custom: { vip: true, visits: 10, host: { name: "Ray" } },
  },
  {
    player_id: "bob",
    tier: "Gold",
    adt: 200.5,
    email: "BOB@Example.com",
    tags: ["slots"],
    custom: { visits: 9 },
  },
  { player_id: "cid", tier: "gold", adt: 0, tags: ["vip"], custom: { vip: true, visits: "10" } },
  { player_id: "dee", tier: "Silver", adt: -5, custom: { vip: false, visits: null } },
  {
    player_id: "eve",
    tier: "Gold, Club",
    email: "eve+promo@mail.test",
    custom: { "fav game": "Slots", visits: true },
  },
  { player_id: "fay", tier: 'VIP "A"', custom: { list: ["first", "second"] } },
  { player_id: "gus", tier: "100%" },
  { player_id: "hal", tier: "Größe", first_name: "Łukasz" },
  { player_id: "ivy", tier: "back\\slash", last_visit_at: "2026-03-01T12:00:00.123456Z" },
  { player_id: "joe", tier: "null", last_visit_at: "2026-03-01T12:00:00Z" },
  { player_id: "kim", tier: "", birth_date: "2000-02-29" },
  { player_id: "lee", tier: "a_b", coin_in: 9007199254740991 },
  { player_id: "mia", tier: "axb", coin_in: -1 },
  { player_id: "ned", tier: "eq.Gold" },
  { player_id: "ola", tier: "O(p)en" },
  { player_id: "pam", legal_hold: true, custom: { vip: true } },
  { player_id: "quy", tags: ["a,b", 'c"d', "e\\f"] },
  { player_id: "rex", adt: 1e300 },
  { player_id: "sue", tier: "日本🎰" },
  { player_id: "tom", first_name: "O'Neil; drop table players" },
  ..."uma vic wes xen yul zoe abe bea cal don".split(" ").map((player_id) => ({ player_id })),
];

/** The players that no filter on a mostly empty column finds. */
export const everyone = players.map(({ player_id }) => player_id).sort();

export const idOf = (name: string): string => `01900000-0000-7000-8000-1000000000${serial(name)}`;

/** Made in an order that is not the names', two in each minute. */
export const createdAt = (name: string): string =>
  new Date(Date.UTC(2026, 0, 1, 0, Math.floor(((everyone.indexOf(name) * 7) % 30) / 2))).toISOString();

const serial = (name: string): string => everyone.indexOf(name).toString(16).padStart(2, "0");

/** The thirty, one of ours who is deleted, and the same thirty as a rival's. */
export async function seedPlayers(db: Database): Promise<void> {
  await db.asSystem(
    (sql) => sql`insert into properties (id, name, slug)
      values (${PROPERTY}, 'Ours', 'ours'), (${RIVAL}, 'Rival', 'rival')`,
  );
  const blank = {
    ...{ email: null, first_name: null, tier: null, adt: null, coin_in: null, birth_date: null },
    ...{ custom: {}, tags: [], legal_hold: false, last_visit_at: null, deleted_at: null },
  };
  const record = (property_id: string) => (player: Player) => ({
    ...blank,
    ...player,
    property_id,
    id: property_id === PROPERTY ? idOf(player.player_id) : randomUUID(),
    created_at: createdAt(player.player_id),
  });
  const ghost = { ...players[0], player_id: "ghost", deleted_at: "2026-01-02T00:00:00Z" };
  const ours = [...players.map(record(PROPERTY)), { ...record(PROPERTY)(ghost), id: randomUUID() }];
  const plant = (property: string, rows: object[]) =>
    db.asProperty(property, async (sql) => {
      for (const row of rows) await sql`insert into players ${insertedValues(row)}`;
    });
  await plant(PROPERTY, ours);
  await plant(RIVAL, players.map(record(RIVAL)));
}
