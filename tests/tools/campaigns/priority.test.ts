import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { EmailMessage } from "#runtime/channels/channel.ts";
import { type House, startHouse } from "../../support/house.ts";
import { type Casino, casino, vendor } from "./casino.ts";

let house: House;
let place: Casino & { id: string };

// Without a worker: the tests run its jobs.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
});
afterAll(() => house?.stop());
beforeEach(async () => {
  const { id } = await house.newTenant();
  place = { ...casino(house, id), id };
});

async function planned(name: string, fields: object = {}): Promise<string> {
  const id = await place.campaign({ name, subject: name, ...fields });
  await place.send(id);
  await place.work({ only: "plan_campaign" });
  return id;
}
const subjects = (given: EmailMessage[]) => given.map(({ subject }) => subject);
const only = (wanted: Record<string, number>) =>
  Object.entries(wanted).flatMap(([subject, count]) => Array(count).fill(subject));
const dueNow = () =>
  house.service.db.asSystem((sql) => sql`update queue set run_at = now() where property_id = ${place.id}`);
/** The campaign's delivery is with a worker that takes its time. */
const hold = (id: string) =>
  house.service.db.asSystem(
    (sql) => sql`
      update queue set state = 'running', lease = gen_random_uuid(), dedupe = null,
        leased_until = now() + interval '1 hour'
      where name = 'deliver_campaign' and input ->> 'campaignId' = ${id}`,
  );

test("of two campaigns that are due, the one of the higher priority is handed over first, and takes the last places", async () => {
  await place.crowd(20);
  await place.call("create_frequency_rule", { channel: "email", max_sends: 1 });
  const low = await planned("low");
  const high = await planned("high", { priority: 5 });
  const { sender, given } = vendor();
  await place.work({ open: () => sender });
  expect(subjects(given)).toEqual(only({ high: 20 }));
  await dueNow();
  await place.work({ open: () => sender });
  expect(given).toHaveLength(20);
  expect(await place.stats(low)).toMatchObject({ status: "sending", deferred: 20 });
  expect(await place.get(high)).toMatchObject({ status: "sent", priority: 5 });
});

test("a lower one gives way to one that is under way, but not for good", async () => {
  await place.crowd(10);
  const low = await planned("low", { priority: -1 });
  await hold(await planned("high"));
  const { sender, given } = vendor();
  let turns = 0;
  for (; given.length === 0; turns += 1) {
    expect(turns).toBeLessThan(20);
    await dueNow();
    await place.work({ open: () => sender, only: "deliver_campaign" });
  }
  expect(turns).toBe(16);
  expect(subjects(given)).toEqual(only({ low: 10 }));
  expect(await place.get(low)).toMatchObject({ status: "sent" });
});

test.each<[string, (high: string) => Promise<unknown>, object?]>([
  ["that waits for a later hour", (id) => later(id)],
  ["that is paused", (id) => place.pause(id)],
  [
    "that waits for the winner of its test",
    (id) => place.work({ only: "deliver_campaign", open: () => vendor().sender }).then(() => id),
    { ab_test: { variants: [{ id: "a" }, { id: "b" }], test_percent: 1, metric: "open" } },
  ],
])("nobody gives way to one %s", async (_, quiet, fields = {}) => {
  await place.crowd(10);
  await quiet(await planned("high", { priority: 9, ...fields }));
  await planned("low");
  const { sender, given } = vendor();
  await place.work({ open: () => sender });
  expect(subjects(given)).toEqual(only({ low: 10 }));
});

const later = (id: string) =>
  house.service.db.asSystem(
    (sql) => sql`
      update queue set run_at = now() + interval '1 hour'
      where name = 'deliver_campaign' and input ->> 'campaignId' = ${id}`,
  );
