import { afterAll, beforeAll, expect, test } from "vitest";
import { type AtWork, startAtWork } from "../campaigns/at-work.ts";

let work: AtWork;
beforeAll(async () => {
  work = await startAtWork();
});
afterAll(() => work?.stop());

test("who takes consent back in the middle of a campaign gets no mail after the answer", async () => {
  const tenant = await work.midCampaign();
  const players = await work.admin<{ id: string; email: string }[]>`
    select p.id, p.email from campaign_sends s join players p on p.property_id = s.property_id and p.id = s.player_id
    where s.property_id = ${tenant.id} and s.status in ('pending', 'sending') order by s.id`;
  const answered: Awaited<ReturnType<AtWork["ask"]>>[] = [];
  // From those whose turn is next, and from those whose turn is last.
  const [next, last] = [players.slice(0, 500).values(), players.slice(500).reverse().values()];
  const revoker = async (people: Iterable<{ id: string; email: string }>) => {
    for (const { id, email } of people) {
      const body = { propertyId: tenant.id, playerId: id, channel: "email" };
      answered.push(await work.ask("/api/functions/consent-revoke", tenant, body, email));
    }
  };
  await Promise.all([next, next, next, last].map(revoker));
  await work.expectNoneLate(answered);
  expect(answered.filter(({ email }) => work.reached(email)).length).toBeGreaterThan(0);
}, 60_000);
