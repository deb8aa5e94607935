import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { testDatabase } from "../../support/database.ts";

/** The indexes that serve the check of a player's key, by the plan that a connection keeps. */
async function indexesOfCheck(admin: postgres.ReservedSql): Promise<string[]> {
  await admin`set plan_cache_mode = force_generic_plan`;
  await admin.unsafe(`prepare key_check (uuid, uuid) as
    select 1 from only players x where property_id = $1 and id = $2 for key share of x`);
  const plan = await admin.unsafe("explain execute key_check (null, null)");
  await admin`deallocate key_check`;
  return plan.flatMap((line) => /Index Scan using (\w+)/.exec(line["QUERY PLAN"])?.[1] ?? []);
}

/** There each worker plans the check for itself, and the coordinator shows no plan of it. */
const isCluster = inject("workers").length > 0;

test.skipIf(isCluster).each(["before the table has statistics", "by statistics of one player"])(
  "a row's player is checked by the primary key, %s",
  async (when) => {
    const database = await testDatabase();
    const pool = postgres(database.url, { max: 1, onnotice: () => {} });
    const admin = await pool.reserve();
    const [property] = await admin`
      insert into properties (name, slug) values ('Own', 'own') returning id`;
    const add = (from: number, to: number) => admin`
      insert into players (property_id, player_id)
      select ${property!.id}::uuid, n from generate_series(${from}::int, ${to}::int) n`;
    await add(1, 1);
    if (when.startsWith("by")) await admin`analyze players`;
    else expect(await indexesOfCheck(admin)).toEqual(["players_pkey"]);
    await add(2, 600);
    expect(await indexesOfCheck(admin)).toEqual(["players_pkey"]);
    admin.release();
    await pool.end();
    await database.drop();
  },
);
