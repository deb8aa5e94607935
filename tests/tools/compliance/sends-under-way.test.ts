import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// What a delivery gives back is claimed again at once: by a claim that does not know of a bar that is not committed.

let service: TestService;
let admin: postgres.Sql;
// Without a worker: the test says what becomes of a message that is on its way.
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});

/** Someone waits in the middle of a transaction. */
const halting = () =>
  vi.waitFor(
    async () => {
      const found = await admin`
        select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and xact_start < clock_timestamp() - interval '100 milliseconds'`;
      expect(found.length).toBeGreaterThan(0);
    },
    { timeout: 10_000, interval: 10 },
  );

test.each<[string, string, (player: { id: string; email: string; propertyId: string }) => object]>([
  ["its address is suppressed", "create_suppression", ({ email }) => ({ channel: "email", address: email })],
  [
    "its player takes consent back",
    "consent_revoke",
    ({ id, propertyId }) => ({ propertyId, playerId: id, channel: "email" }),
  ],
  ["its player is self-excluded", "create_self_exclusion", ({ id }) => ({ player_id: id })],
  [
    "its player is banned",
    "set_player_status",
    ({ id, propertyId }) => ({ propertyId, playerId: id, status: "banned" }),
  ],
  ["its player is erased", "data_deletion", ({ id, propertyId }) => ({ propertyId, playerId: id })],
])("a message that is given back while %s goes to nobody after the answer", async (_, operation, about) => {
  const { id: propertyId } = await service.newTenant();
  const scenario = scenarioIn(service, propertyId);
  const email = "ana@example.com";
  const id = await scenario.player({ email });
  const campaignId = await scenario.campaign();
  await scenario.send(campaignId);
  await scenario.work({ only: "plan_campaign" });
  const become = (status: string) =>
    scenario.query(
      (sql) => sql`
        update campaign_sends set status = ${status}, updated_at = now()
        where property_id = ${propertyId} and campaign_id = ${campaignId}`,
    );
  await become("sending");
  let answered = false;
  const barred = scenario.call(operation, about({ id, email, propertyId })).finally(() => {
    answered = true;
  });
  await halting();
  await become("pending");
  expect(answered).toBe(false);
  await barred;
  expect(await scenario.stats(campaignId)).toMatchObject({ cancelled: 1, pending: 0 });
});

test("taking back email leaves a text to the same player on its way", async () => {
  const { id: propertyId } = await service.newTenant();
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
