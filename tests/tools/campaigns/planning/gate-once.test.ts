import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { countRows, type RowCounter } from "../../../support/postgres/rows-read.ts";
import { type Scenario, scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

const PLAYERS = 200;

let service: TestService;
let scenario: Scenario;
let counter: RowCounter;

// One exclusion has ended, so the gate reads at most that row for each player, and goes on.
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = scenarioIn(service);
  await scenario.crowd(PLAYERS);
  await scenario.query(
    (sql) => sql`
      insert into self_exclusions (property_id, player_id, starts_at, ends_at)
      select property_id, id, now() - interval '2 days', now() - interval '1 day' from players
      where property_id = ${scenario.id} limit 1 returning 1`,
  );
  counter = countRows(service);
});
afterAll(async () => {
  await counter?.stop();
  await service?.stop();
});

// The nodes of a cluster count by themselves.
test.skipIf(inject("workers").length > 0)("planning asks the gate once for each player", async () => {
  const id = await scenario.campaign({ holdout_percent: 5 });
  await scenario.send(id);
  const { read } = await counter.during(() => scenario.work({ only: "plan_campaign" }));
  expect(await scenario.get(id)).toMatchObject({ audience_count: PLAYERS });
  expect(read.self_exclusions).toBeGreaterThan(0);
  expect(read.self_exclusions).toBeLessThanOrEqual(PLAYERS);
});
