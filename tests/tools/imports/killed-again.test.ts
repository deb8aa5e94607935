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
