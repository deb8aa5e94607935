import postgres from "postgres";
import { expect, inject, onTestFinished, test } from "vitest";
import { testDatabase } from "../../support/database.ts";

/** There each worker plans for itself, and the coordinator shows no plan of it. */
const isCluster = inject("workers").length > 0;

test.skipIf(isCluster).each([
  ["a list of the players by it", "deleted_at is null order by birth_date, id limit 3"],
  ["a look for the players of one, deleted ones too", "birth_date = '1950-06-01'"],
])("the index of birth dates serves %s", async (_, condition) => {
  const { url, drop } = await testDatabase();
  onTestFinished(drop);
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  onTestFinished(() => admin.end());
  const [property] = await admin<{ id: string }[]>`
    insert into properties (name, slug) values ('Own', 'own') returning id`;
  await admin`
    insert into players (property_id, player_id, birth_date)
    select ${property!.id}::uuid, n, case when n > 1500 then date '1950-01-01' + n end from generate_series(1, 3000) n`;
  await admin`analyze players`;
  const plan = await admin.unsafe(
    `explain select id from players where property_id = '${property!.id}' and ${condition}`,
  );
  expect(plan.map((line) => line["QUERY PLAN"]).join("\n")).toContain("players_birth_date");
});
