import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("deleting a paused campaign leaves its jobs nothing to do, and no error in the log", async () => {
  const lines: { level: number; msg: string }[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const { work, crowd, campaign, send, pause, call, sends } = scenarioIn({
    ...service,
    internals: { ...service.internals, log },
  });
  await crowd(3);
  const id = await campaign();
  await send(id);
  await work({ only: "plan_campaign" });
  await pause(id);
  await call("delete_campaign", { id });
  await work();
  expect(lines).toEqual([]);
  expect((await sends(id)).map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
});

test("a deleted campaign keeps its figures", async () => {
  const { work, crowd, campaign, send, stats, call } = scenarioIn(service, (await service.newProperty()).id);
  await crowd(2);
  const id = await campaign();
  await send(id);
  await work();
  const before = await stats(id);
  await call("delete_campaign", { id });
  expect(await stats(id)).toMatchObject({ sent: before.sent, audience: before.audience, status: "sent" });
  await expect(call("get_campaign", { id })).rejects.toMatchObject({ code: "not_found" });
});
