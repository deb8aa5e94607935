import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Sql } from "#db/database.ts";
import { withLastRows } from "../../support/postgres/dying.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type Arcade, arcade } from "./arcade.ts";

let service: TestService;
let place: Arcade;
beforeAll(async () => {
  service = await startService({ role: "web" });
  place = await arcade(service);
});
afterAll(() => service?.stop());

const TABLES = [
  "games",
  "game_counts",
  "game_standings",
  "game_plays",
  "game_tickets",
  "game_prizes",
  "game_seeds",
];
const OTHERS = 1_000;

type Rows = Record<string, number>;

/** The rows of each table that a work's transactions read, those of their last statements too. */
async function rowsRead(work: () => Promise<unknown>): Promise<Rows> {
  const { db } = service.internals;
  const { asProperty } = db;
  const read: Rows = {};
  const spy = vi.spyOn(db, "asProperty").mockImplementation((property, inside, options) =>
    asProperty(
      property,
      async (sql, last) => {
        await addCounts(sql, read, -1);
        const result = await withLastRows(inside)(sql, last);
        await addCounts(sql, read, 1);
        return result;
      },
      options,
    ),
  );
  await work().finally(() => spy.mockRestore());
  return read;
}

async function addCounts(sql: Sql, read: Rows, factor: number): Promise<void> {
  const tables = await sql<{ name: string; rows: number }[]>`
    select relname as name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
    where relname = any(${TABLES}::text[])`;
  for (const { name, rows } of tables) read[name] = (read[name] ?? 0) + factor * rows;
}

/** Other players with plays, tickets and standings of the game, of which PostgreSQL has no statistics yet. */
const fill = (game: string) =>
  place.query(async (sql) => {
    await sql`
      insert into players (property_id, id, player_id)
      select ${place.id}::uuid, uuid_v7(), 'many-' || n from generate_series(1, ${OTHERS}) n returning 1`;
    const others = sql`select id from players where property_id = ${place.id} and player_id like 'many-%'`;
    await sql`
      insert into game_plays (property_id, game_id, player_id, outcome, server_seed_hash, client_seed, nonce, roll)
      select ${place.id}::uuid, ${game}::uuid, o.id, 'lose', '', '', n, 0 from (${others}) o, generate_series(1, 5) n returning 1`;
    await sql`
      insert into game_standings (property_id, game_id, player_id, nonce, plays)
      select ${place.id}::uuid, ${game}::uuid, o.id, 5, 5 from (${others}) o returning 1`;
    await sql`
      insert into game_tickets (property_id, game_id, player_id, source, key)
      select ${place.id}::uuid, ${game}::uuid, o.id, 'manual', 'many' from (${others}) o returning 1`;
  });

test("a play reads no more because its game has many plays, also by a plan that PostgreSQL made before them", async () => {
  const prize = { label: "Ten", value: 10, inventory_total: 1_000, per_player_limit: 500, daily_limit: 900 };
  const game = await place.game([prize, { label: "None", kind: "no_prize" }], {
    play_limits: { per_player_total: 1_000, per_player_per_day: 1_000, game_total: 100_000 },
  });
  const player = await place.player();
  const plays = async (amount: number) => {
    for (let play = 0; play < amount; play += 1) await place.play(game, player);
  };
  // A connection keeps a plan from the sixth run of a statement on.
  await plays(12);
  const before = await rowsRead(() => plays(5));
  await fill(game);
  const after = await rowsRead(() => plays(5));
  expect(after.game_plays).toBe(0);
  for (const table of TABLES) {
    expect(after[table] ?? 0, `rows of ${table}`).toBeLessThanOrEqual((before[table] ?? 0) + 10);
    expect(after[table] ?? 0, `rows of ${table}`).toBeLessThan(60);
  }
});
