import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { chain, journeyClock } from "./clock.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("answers the ways, messages and blocks of real players, and writes nothing", async () => {
  const clock = await journeyClock(service);
  const { scenario } = clock;
  const ids: string[] = [];
  for (let index = 0; index < 6; index += 1) {
    const player = { player_id: `P${index}`, email: `p${index}@example.com`, timezone: "Europe/Berlin" };
    ids.push(await scenario.player(player, index < 4));
  }
  const definition = chain([
    { id: "hello", type: "message", config: { channel: "email", subject: "Hi", body_html: "<p>Hi</p>" } },
    { id: "rest", type: "delay", config: { by: "duration", duration: { amount: 2, unit: "days" } } },
    { id: "end", type: "exit", config: {} },
  ]);
  const answer = await scenario.call("simulate_journey", {
    propertyId: scenario.id,
    definition,
    playerIds: ids,
    days: 5,
  });
  console.log(JSON.stringify(answer, null, 1));
  expect(answer.entered).toBe(6);
});
