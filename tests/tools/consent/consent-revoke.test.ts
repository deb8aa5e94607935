import { afterAll, beforeAll, expect, test } from "vitest";
import { type MailedCampaigns, startMailedCampaigns } from "../../support/mailed-campaigns.ts";

let campaigns: MailedCampaigns;
beforeAll(async () => {
  campaigns = await startMailedCampaigns();
});
afterAll(() => campaigns?.stop());

test("a player who takes consent back in the middle of a campaign gets no mail after the answer", async () => {
  const tenant = await campaigns.midSending();
  const players = await campaigns.admin<{ id: string; email: string }[]>`
    select p.id, p.email from campaign_sends s join players p on p.property_id = s.property_id and p.id = s.player_id
    where s.property_id = ${tenant.id} and s.status in ('pending', 'sending') order by s.id`;
  const answered: Awaited<ReturnType<MailedCampaigns["ask"]>>[] = [];
  const asked = new Set<string>();
  /** Those whose messages are claimed, and have not come yet. */
  async function* claimed() {
    for (let look = 0; look < 6; look += 1) {
      const one = await campaigns.claimed(tenant, asked);
      if (one) yield one;
    }
  }
  // And from those whose turn is next, and from those whose turn is last.
  const [next, last] = [players.slice(0, 40).values(), players.slice(-16).reverse().values()];
  type People = Iterable<{ id: string; email: string }> | AsyncIterable<{ id: string; email: string }>;
  const revoker = async (people: People) => {
    for await (const { id, email } of people) {
      asked.add(email);
      const body = { propertyId: tenant.id, playerId: id, channel: "email" };
      answered.push(await campaigns.ask("/api/functions/consent-revoke", tenant, body, email));
    }
  };
  await Promise.all([claimed(), claimed(), next, next, last].map(revoker));
  await campaigns.expectNoneLate(answered);
  expect(answered.filter(({ email }) => campaigns.reached(email)).length).toBeGreaterThan(0);
});
