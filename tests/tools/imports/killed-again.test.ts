import { afterAll, beforeAll, expect, test } from "vitest";
import { Killed, loseWorker, runNext } from "../../support/job-runner.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service.stop());

test("an import that was killed nine times gets on in steps of a tenth", async () => {
  const { tenant, internals } = service;
  const csv = `player_id\n${Array.from({ length: 3_000 }, (_, n) => `K${n}`).join("\n")}\n`;
  const { id } = await service.call("create_import_job", { csv }, tenant.id);
  const processed = async () => (await service.call("get_import_job", { id }, tenant.id)).processed as number;
  // Later and later, until it is killed behind its first batch.
  for (let left = 1; (await processed()) === 0; left += 1) {
    await internals.db.asSystem((sql) => sql`update queue set attempts = 9 where name = 'import_players'`);
    const killed = runNext(service, tenant.id, { only: "import_players", killedAfter: { left } });
    await expect(killed).rejects.toThrow(Killed);
    await loseWorker(service, tenant.id);
  }
  expect(await processed()).toBe(1_000);
});

test("an import that is twice on the queue writes each batch once", async () => {
  const { id: propertyId } = await service.newProperty();
  const csv = `player_id\n${Array.from({ length: 3_000 }, (_, n) => `T${n}`).join("\n")}\n`;
  const { id } = await service.call("create_import_job", { csv }, propertyId);
  await service.internals.db.asSystem(async (sql) => {
    await sql`update queue set attempts = 9 where input ->> 'jobId' = ${id}`;
    await sql`
      insert into queue (id, name, property_id, input, attempts, max_attempts)
      select uuid_v7(), name, property_id, input, attempts, max_attempts from queue where input ->> 'jobId' = ${id}`;
  });
  const only = "import_players";
  expect(await Promise.all([1, 2].map(() => runNext(service, propertyId, { only })))).toEqual([true, true]);
  expect(await service.call("get_import_job", { id }, propertyId)).toMatchObject({
    ...{ status: "completed", total: 3_000, processed: 3_000, created_count: 3_000, failed: 0 },
  });
});
