import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { workAsSystem } from "#runtime/funnel/system-work.ts";
import { CATALOG } from "#tools/catalog.ts";
import { waitingWords } from "#tools/uses/waiting-campaigns.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let key: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
  const { api_key } = await service.call("create_api_key", { property_id: scenario.id, name: "agent" });
  key = api_key;
});

const agent = (name: string, input: Record<string, unknown>) =>
  onceOverMcp(service, CATALOG.operations.get(name)!, input, { "X-Api-Key": key });

/** A campaign under way, of which so many texts wait for this reason. */
async function waiting(name: string, messages: number, reason: string, status = "sending") {
  const id = await scenario.campaign({ name, channel: "sms", body_text: "Hello" });
  await scenario.query(
    (sql) => sql`update campaigns set status = ${status} where property_id = ${scenario.id} and id = ${id}`,
  );
  await scenario.query(
    (sql) => sql`
      insert into campaign_sends (property_id, campaign_id, channel, status, skip_reasons, dedupe_key)
      select ${scenario.id}, ${id}::uuid, 'sms', 'deferred', array[${reason}::text],
        convert_to(${name}::text || n, 'UTF8')
      from generate_series(1, ${messages}::int) n returning 1`,
  );
  return id;
}

const hours = { country: "US", channel: ["sms"], open_local: "09:00", close_local: "20:00" };

test("a question about looser hours names the campaigns whose messages wait for them", async () => {
  const { id } = await scenario.call("create_quiet_hours_rule", hours);
  const quiet = await agent("update_quiet_hours_rule", { id, close_local: "21:00" });
  expect(quiet.data.message).not.toContain("may go out at once");
  for (const [index, name] of ["Ace", "Bay", "Cup", "Dee", "Elm", "Fox"].entries())
    await waiting(name, 9 - index, "quiet_hours");
  await waiting("Capped", 5, "frequency_capped");
  await waiting("Paused", 5, "quiet_hours", "paused");
  const words =
    '39 messages wait for open hours and may go out at once, of 6 campaigns: "Ace" (9), "Bay" (8), "Cup" (7), "Dee" (6), "Elm" (5) and 1 more.';
  const input = { id, close_local: "21:00" };
  const asked = await agent("update_quiet_hours_rule", input);
  expect(asked.data.message).toContain(words);
  expect((await agent("delete_quiet_hours_rule", { id })).data.message).toContain(words);
  expect((await agent("create_quiet_hours_rule", { ...hours, state: "NV" })).data.message).toContain(words);
  const mail = await agent("create_quiet_hours_rule", { ...hours, state: "NV", channel: ["email"] });
  expect(mail.data.message).not.toContain("may go out at once");
  // The person has agreed to the rule: another number of messages asks nobody again.
  await waiting("Gus", 1, "quiet_hours");
  const done = await agent("update_quiet_hours_rule", { ...input, confirm_token: asked.data.confirm_token });
  expect(done.data).toMatchObject({ id, close_local: "21:00" });
});

test("a question about a looser frequency rule names the campaigns whose messages wait for it", async () => {
  const cap = { channel: "phone", max_sends: 1, window_unit: "week" };
  const { id } = await scenario.call("create_frequency_rule", cap);
  await waiting("Spring", 1, "frequency_capped");
  await waiting("Night", 4, "quiet_hours");
  const words = '1 message waits for a frequency rule and may go out at once, of 1 campaign: "Spring" (1).';
  const asked = await agent("update_frequency_rule", { id, max_sends: 2 });
  expect(asked.data.message).toContain(words);
  expect((await agent("delete_frequency_rule", { id })).data.message).toContain(words);
  await scenario.call("update_frequency_rule", { id, is_active: false });
  expect((await agent("delete_frequency_rule", { id })).data.message).not.toContain("may go out");
});

test("messages that wait are read a page at a time, as long as there is time, and the words say so", async () => {
  await waiting("Spring", 5, "quiet_hours");
  await waiting("Summer", 4, "quiet_hours");
  const property = (await service.internals.directory.property(scenario.id))!;
  const words = (countUntil: number) =>
    workAsSystem(service.internals, { property, transport: "job", requestId: randomUUID() }, (context) =>
      waitingWords(context, "quiet_hours", ["sms"], { countUntil, page: 2 }),
    );
  const whole =
    '9 messages wait for open hours and may go out at once, of 2 campaigns: "Spring" (5), "Summer" (4).';
  expect(await words(Number.POSITIVE_INFINITY)).toEqual([whole]);
  expect(await words(performance.now() - 1)).toEqual([
    "Messages may wait for open hours and go out at once: there was no time to count those of all campaigns.",
  ]);
});
