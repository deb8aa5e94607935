import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// Sends that a delivery gives back are claimed again at once, by a claim that cannot see an uncommitted bar.

let service: TestService;
let admin: postgres.Sql;
// Without a worker: the test says what becomes of a message that is on its way.
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

/** Resolves when a transaction has asked the same at ten moments: it waits until a message has an outcome. */
async function looksAgain(): Promise<void> {
  const moments = new Map<string, Set<string>>();
  await vi.waitFor(
    async () => {
      const asked = await admin<{ what: string; moment: string }[]>`
        select concat_ws(' ', pid, xact_start, query) as what, query_start::text as moment from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
      for (const { what, moment } of asked) moments.set(what, (moments.get(what) ?? new Set()).add(moment));
      expect(Math.max(0, ...[...moments.values()].map(({ size }) => size))).toBeGreaterThanOrEqual(10);
    },
    { timeout: 20_000, interval: 5 },
  );
}

/** A campaign that is sent and planned, and not delivered yet. */
async function planned(scenario: Scenario): Promise<string> {
  const campaignId = await scenario.campaign();
  await scenario.send(campaignId);
  await scenario.work({ only: "plan_campaign" });
  return campaignId;
}

/** Gives a campaign's sends this status, as a delivery does. However slow the machine, they were claimed just now. */
const become = ({ id, query }: Scenario, campaignId: string, status: string) =>
  query(
    (sql) => sql`
      update campaign_sends set status = ${status}, updated_at = statement_timestamp() + interval '1 minute'
      where property_id = ${id} and campaign_id = ${campaignId}`,
  );

/** Calls, and notes when the answer is there. */
function calling(scenario: Scenario, operation: string, input: object) {
  const call = { isAnswered: false, answer: scenario.call(operation, input) };
  const note = () => {
    call.isAnswered = true;
  };
  call.answer.then(note, note);
  return call;
}

test.each<[string, string, (player: { id: string; email: string; propertyId: string }) => object]>([
  ["its address is suppressed", "create_suppression", ({ email }) => ({ channel: "email", address: email })],
  [
    "its player takes consent back",
    "consent_revoke",
    ({ id, propertyId }) => ({ propertyId, playerId: id, channel: "email" }),
  ],
  [
    "its player's refusal is recorded",
    "consent_record",
    ({ id, propertyId }) => ({ propertyId, playerId: id, channel: "email", consentGiven: false }),
  ],
  ["its player is self-excluded", "create_self_exclusion", ({ id }) => ({ player_id: id })],
  [
    "its player is banned",
    "set_player_status",
    ({ id, propertyId }) => ({ propertyId, playerId: id, status: "banned" }),
  ],
  ["its player is erased", "data_deletion", ({ id, propertyId }) => ({ propertyId, playerId: id })],
])("a message that is given back while %s goes to nobody after the answer", async (_, operation, about) => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const email = "ana@example.com";
  const id = await scenario.player({ email });
  const campaignId = await planned(scenario);
  await become(scenario, campaignId, "sending");
  const barring = calling(scenario, operation, about({ id, email, propertyId }));
  await Promise.race([looksAgain(), barring.answer]);
  expect(barring.isAnswered).toBe(false);
  await become(scenario, campaignId, "pending");
  await barring.answer;
  expect(await scenario.stats(campaignId)).toMatchObject({ cancelled: 1, pending: 0 });
});

test("a message that starts in the last moment for it has half a second to reach its vendor before the answer", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const playerId = await scenario.player({ email: "ana@example.com" });
  const campaignId = await planned(scenario);
  await become(scenario, campaignId, "sending");
  await admin`
    update campaign_sends set updated_at = clock_timestamp() where property_id = ${propertyId} and campaign_id = ${campaignId}`;
  await scenario.call("consent_revoke", { propertyId, playerId, channel: "email" });
  const [{ wait }] = await admin<[{ wait: number }]>`
    select extract(epoch from clock_timestamp() - updated_at)::float8 as wait from campaign_sends
    where property_id = ${propertyId} and campaign_id = ${campaignId}`;
  expect(wait).toBeGreaterThan(1.5);
});

/** An erasure that has stopped the sends under way, and waits for `table` until `release`. */
async function haltedErasure(scenario: Scenario, playerId: string, table: string) {
  const release = await openTransaction(admin, (sql) => sql`lock table ${sql(table)} in share mode`);
  const erasing = calling(scenario, "data_deletion", { propertyId: scenario.id, playerId });
  await lockWaits(admin, 1);
  return { erasing, release };
}

test("an erasure waits for a message to another player with the address that is claimed while it runs", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const email = "ana@example.com";
  const playerId = await scenario.player({ email });
  await scenario.player({ email, player_id: "twin", status: "inactive" });
  const conditions = [{ field: "status", operator: "eq", value: "inactive" }];
  const campaignId = await scenario.campaign({ audience: null, conditions });
  const { erasing, release } = await haltedErasure(scenario, playerId, "voice_calls");
  await scenario.send(campaignId);
  await scenario.work({ only: "plan_campaign" });
  await become(scenario, campaignId, "sending");
  await release();
  await Promise.race([looksAgain(), erasing.answer]);
  expect(erasing.isAnswered).toBe(false);
  await become(scenario, campaignId, "sent");
  expect(await erasing.answer).toMatchObject({ success: true });
});

test("a campaign that is planned while its recipient is erased sends that recipient nothing", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const playerId = await scenario.player({ email: "ana@example.com" });
  const campaignId = await scenario.campaign();
  const { erasing, release } = await haltedErasure(scenario, playerId, "voice_calls");
  await scenario.send(campaignId);
  const planning = scenario.work({ only: "plan_campaign" });
  await lockWaits(admin, 2);
  await release();
  await Promise.all([planning, erasing.answer]);
  await scenario.work();
  expect(await scenario.mailbox()).toEqual([]);
  expect(await scenario.tally(campaignId)).toEqual({ skipped: 1 });
});

test("a refusal from before the player's consent leaves messages on their way", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const playerId = await scenario.player({ email: "ana@example.com" });
  const campaignId = await planned(scenario);
  const refusal = { channel: "email", consentGiven: false, occurredAt: "2020-01-01T00:00:00Z" };
  await scenario.call("consent_record", { propertyId, playerId, ...refusal });
  expect(await scenario.stats(campaignId)).toMatchObject({ pending: 1, cancelled: 0 });
});

test("a message that is given back in the middle of a cancellation is cancelled too", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const playerId = await scenario.player({ email: "ana@example.com" });
  const [held, returned] = [await scenario.campaign(), await scenario.campaign()];
  for (const id of [held, returned]) await scenario.send(id);
  await scenario.work({ only: "plan_campaign" });
  await become(scenario, returned, "sending");
  const release = await openTransaction(
    admin,
    (sql) => sql`
      select from campaign_sends where property_id = ${propertyId} and campaign_id = ${held} for update`,
  );
  const banning = scenario.call("set_player_status", { propertyId, playerId, status: "banned" });
  // The cancellation began before the message was given back, and does not see it.
  await lockWaits(admin, 1);
  await become(scenario, returned, "pending");
  await release();
  await banning;
  for (const id of [held, returned]) expect(await scenario.tally(id)).toEqual({ cancelled: 1 });
});

test("a message that waits for a later hour is cancelled, and one that a vendor may have is not counted so", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const playerId = await scenario.player({ email: "ana@example.com" });
  const [deferred, repeated] = [await scenario.campaign(), await scenario.campaign()];
  for (const id of [deferred, repeated]) await scenario.send(id);
  await scenario.work({ only: "plan_campaign" });
  await become(scenario, deferred, "deferred");
  await scenario.query(
    (sql) => sql`update campaign_sends set repeats = true where campaign_id = ${repeated}`,
  );
  await scenario.call("set_player_status", { propertyId, playerId, status: "banned" });
  expect(await scenario.tally(deferred)).toEqual({ cancelled: 1 });
  expect(await scenario.tally(repeated)).toEqual({ unknown: 1 });
});

const PHONE = "+17025550143";

test.each<[string, string, string, (player: { playerId: string; propertyId: string }) => object]>([
  ["a number on the do-not-call list", "pending", "create_dnc_entry", () => ({ phone: PHONE })],
  ["a ban", "cancelled", "set_player_status", (player) => ({ ...player, status: "banned" })],
])(
  "%s stops its player's mail, and mail to who shares the address is %s",
  async (_, state, operation, about) => {
    const { id: propertyId } = await service.newProperty();
    const scenario = scenarioIn(service, propertyId);
    const email = "ana@example.com";
    const playerId = await scenario.player({ email, phone: PHONE });
    await scenario.player({ email, player_id: "twin", status: "inactive" });
    const to = (status: string) => [{ field: "status", operator: "eq", value: status }];
    const campaigns = [];
    for (const status of ["active", "inactive"]) {
      const id = await scenario.campaign({ audience: null, conditions: to(status) });
      await scenario.send(id);
      campaigns.push(id);
    }
    await scenario.work({ only: "plan_campaign" });
    await scenario.call(operation, about({ playerId, propertyId }));
    const states = await Promise.all(campaigns.map((id) => scenario.tally(id)));
    expect(states).toEqual([{ cancelled: 1 }, { [state]: 1 }]);
  },
);

test("taking back email leaves a text to the same player on its way", async () => {
  const { id: propertyId } = await service.newProperty();
  const scenario = scenarioIn(service, propertyId);
  const id = await scenario.player({ email: "bo@example.com", phone: "+17025550143" });
  await scenario.call("consent_record", { propertyId, playerId: id, channel: "sms", consentGiven: true });
  const mail = await scenario.campaign();
  const text = await scenario.campaign({ channel: "sms", subject: null, body_html: null, body_text: "Hi" });
  await scenario.send(mail);
  await scenario.call("send_sms_campaign", { propertyId, campaignId: text });
  await scenario.work({ only: "plan_campaign" });
  await scenario.call("consent_revoke", { propertyId, playerId: id, channel: "email" });
  expect(await scenario.stats(mail)).toMatchObject({ cancelled: 1, pending: 0 });
  expect(await scenario.stats(text)).toMatchObject({ cancelled: 0, pending: 1 });
});
