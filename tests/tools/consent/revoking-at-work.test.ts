import postgres from "postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type House, startHouse } from "../../support/house.ts";
import { mailServer } from "../../support/receivers.ts";
import { casino } from "../campaigns/casino.ts";

let house: House;
let admin: postgres.Sql;
let mail: Awaited<ReturnType<typeof mailServer>>;
/** When each address last got a mail. */
const arrivals = new Map<string, number>();

beforeAll(async () => {
  mail = await mailServer(({ to }) => void arrivals.set(to, performance.now()));
  house = await startHouse({
    email: { provider: "smtp", smtpUrl: mail.url, from: "promo@casino.example" },
  });
  admin = postgres(house.database.url, { max: 1, onnotice: () => {} });
});
afterAll(async () => {
  await admin.end();
  await house.stop();
  await mail.stop();
});

test("who takes consent back in the middle of a campaign gets no mail after the answer", async () => {
  const tenant = await house.newTenant();
  const here = casino(house, tenant.id);
  await here.crowd(1000, "stop");
  const campaign = await here.campaign();
  await here.send(campaign);
  await vi.waitFor(() => expect(mail.mails.length).toBeGreaterThan(30), 20_000);
  const players = await admin<{ id: string; email: string }[]>`
    select p.id, p.email from campaign_sends s join players p on p.property_id = s.property_id and p.id = s.player_id
    where s.property_id = ${tenant.id} and s.status in ('pending', 'sending') order by s.id`;
  const answered: { email: string; status: number; at: number }[] = [];
  // From those whose turn is next, and from those whose turn is last.
  const [next, last] = [players.slice(0, 500).values(), players.slice(500).reverse().values()];
  const revoker = async (people: Iterable<{ id: string; email: string }>) => {
    for (const { id, email } of people) {
      const { status } = await house.post(
        "/api/functions/consent-revoke",
        { propertyId: tenant.id, playerId: id, channel: "email" },
        { "X-Api-Key": tenant.key },
      );
      answered.push({ email, status, at: performance.now() });
    }
  };
  await Promise.all([next, next, next, last].map(revoker));
  await house.idle();
  expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
  const late = answered.filter(({ email, at }) => (arrivals.get(email) ?? 0) > at);
  expect(late).toEqual([]);
  const reached = answered.filter(({ email }) => arrivals.has(email)).length;
  expect([reached > 0, reached < answered.length]).toEqual([true, true]);
}, 60_000);
