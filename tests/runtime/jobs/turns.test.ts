import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { jobContexts } from "#runtime/jobs/job-context.ts";
import { startService } from "../../support/service.ts";

test("a job's transaction has started behind its wait for a turn, and before it begins", async () => {
  const service = await startService({ role: "web" });
  onTestFinished(() => service.stop());
  const { internals, tenant } = service;
  const [id, lease] = [randomUUID(), randomUUID()];
  await internals.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, property_id, input, max_attempts, state, lease, leased_until)
      values (${id}, 'waits', ${tenant.id}, '{}', 1, 'running', ${lease}, now() + interval '1 hour')`,
  );
  const claimed = {
    ...{ id, lease, name: "waits", property_id: tenant.id, tenant: tenant.id, input: {}, merge_key: null },
    ...{ attempts: 1, max_attempts: 1, trace: null, claimedAt: 0, stop: new AbortController() },
  };
  const config = { ...internals.config, databasePool: 2 };
  const { transact } = jobContexts({ ...internals, config, jobRuntime: null as never }, () => {}).of(claimed);
  const turn = Promise.withResolvers<void>();
  const first = transact(() => turn.promise);
  const second = transact(async ({ sql }, startedAt) => {
    const [row] = await sql<{ age: number }[]>`
      select extract(epoch from clock_timestamp() - now())::double precision * 1000 as age`;
    return { startedAt, age: row!.age, endedAt: performance.now() };
  });
  // The first has the one turn that there is.
  await internals.db.asSystem((sql) => sql`select 1`);
  const freedAt = performance.now();
  turn.resolve();
  await first;
  const { startedAt, age, endedAt } = await second;
  expect(startedAt).toBeGreaterThanOrEqual(freedAt);
  expect(endedAt - startedAt).toBeGreaterThanOrEqual(age);
});
