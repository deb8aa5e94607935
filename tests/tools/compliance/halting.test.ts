import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type House, startHouse } from "../../support/house.ts";
import { casino } from "../campaigns/casino.ts";

// What a delivery gives back is claimed again at once: by a claim that does not know of a bar that is not committed.

let house: House;
let admin: postgres.Sql;
// Without a worker: the test says what becomes of a message that is on its way.
beforeAll(async () => {
  house = await startHouse({ role: "web" });
  admin = postgres(house.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await house?.stop();
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
  const { id: propertyId } = await house.newTenant();
  const place = casino(house, propertyId);
  const email = "ana@example.com";
  const id = await place.player({ email });
  const campaignId = await place.campaign();
  await place.send(campaignId);
  await place.work({ only: "plan_campaign" });
  const become = (status: string) =>
    place.query(
      (sql) => sql`
        update campaign_sends set status = ${status}, updated_at = clock_timestamp()
        where property_id = ${propertyId} and campaign_id = ${campaignId}`,
    );
  await become("sending");
  let answered = false;
  const barred = place.call(operation, about({ id, email, propertyId })).finally(() => {
    answered = true;
  });
  await halting();
  await become("pending");
  expect(answered).toBe(false);
  await barred;
  expect(await place.stats(campaignId)).toMatchObject({ cancelled: 1, pending: 0 });
});
