import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import { vendor } from "../../../support/job-runner.ts";
import { newScenario, type Scenario } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

let service: TestService;
let scenario: Scenario;

// Without a worker: the tests run its jobs.
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());
beforeEach(async () => {
  scenario = await newScenario(service);
});

async function planned(name: string, fields: object = {}): Promise<string> {
  const id = await scenario.campaign({ name, subject: name, ...fields });
  await scenario.send(id);
  await scenario.work({ only: "plan_campaign" });
  return id;
}
const subjects = (given: EmailMessage[]) => given.map(({ subject }) => subject);
const only = (wanted: Record<string, number>) =>
  Object.entries(wanted).flatMap(([subject, count]) => Array(count).fill(subject));
const dueNow = () =>
  service.internals.db.asSystem(
    (sql) => sql`update queue set run_at = now() where property_id = ${scenario.id}`,
  );
/** The campaign's delivery is with a worker that takes its time. */
const hold = (id: string) =>
  service.internals.db.asSystem(
    (sql) => sql`
      update queue set state = 'running', lease = gen_random_uuid(), dedupe = null,
        leased_until = now() + interval '1 hour'
      where name = 'deliver_campaign' and input ->> 'campaignId' = ${id}`,
  );

test("of two campaigns that are due, the one of the higher priority is handed over first, and takes the last places", async () => {
  await scenario.crowd(20);
  await scenario.call("create_frequency_rule", { channel: "email", max_sends: 1, window_unit: "day" });
  const low = await planned("low");
  const high = await planned("high", { priority: 5 });
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(subjects(given)).toEqual(only({ high: 20 }));
  await dueNow();
  await scenario.work({ open: () => sender });
  expect(given).toHaveLength(20);
  expect(await scenario.stats(low)).toMatchObject({ status: "sending", deferred: 20 });
  expect(await scenario.get(high)).toMatchObject({ status: "sent", priority: 5 });
});

test("a lower one gives way to one that is under way, but not for good", async () => {
  await scenario.crowd(10);
  const low = await planned("low", { priority: -1 });
  await hold(await planned("high"));
  const { sender, given } = vendor();
  let turns = 0;
  for (; given.length === 0; turns += 1) {
    expect(turns).toBeLessThan(20);
    await dueNow();
    await scenario.work({ open: () => sender, only: "deliver_campaign" });
  }
  expect(turns).toBe(16);
  expect(subjects(given)).toEqual(only({ low: 10 }));
  expect(await scenario.get(low)).toMatchObject({ status: "sent" });
});

test.each<[string, (high: string) => Promise<unknown>, object?]>([
  ["that waits for a later hour", (id) => later(id)],
  ["that is paused", (id) => scenario.pause(id)],
  [
    "that waits for the winner of its test",
    (id) => scenario.work({ only: "deliver_campaign", open: () => vendor().sender }).then(() => id),
    { ab_test: { variants: [{ id: "a" }, { id: "b" }], test_percent: 1, metric: "open" } },
  ],
])("nobody gives way to one %s", async (_, quiet, fields = {}) => {
  await scenario.crowd(10);
  await quiet(await planned("high", { priority: 9, ...fields }));
  await planned("low");
  const { sender, given } = vendor();
  await scenario.work({ open: () => sender });
  expect(subjects(given)).toEqual(only({ low: 10 }));
});

const later = (id: string) =>
  service.internals.db.asSystem(
    (sql) => sql`
      update queue set run_at = now() + interval '1 hour'
      where name = 'deliver_campaign' and input ->> 'campaignId' = ${id}`,
  );
