import { afterAll, beforeAll, expect, test } from "vitest";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { type FormBrowser, signedIn } from "./form-browser.ts";

let service: TestService;
let scenario: Scenario;

beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = scenarioIn(service);
  await scenario.crowd(3);
  await service.call("update_property", { propertyId: service.tenant.id, approval_over_players: 0 });
});
afterAll(() => service?.stop());

async function proposed(): Promise<{ id: string; campaign: string }> {
  const campaign = await scenario.campaign();
  const body = { campaignId: campaign, propertyId: service.tenant.id };
  const { details } = (await service.post("/api/functions/send-campaign", body)).body;
  const named = ({ field }: { field: string }) => field === "proposal_id";
  return { id: details.find(named).message, campaign };
}

/** The hash that the page of the preview puts into its form. */
async function shownTo(one: FormBrowser, id: string): Promise<string> {
  const { text } = await one.get(`/console/approvals/${id}/preview`);
  return /name="shown" value="([0-9a-f]{64})"/.exec(text)![1]!;
}

test("of two sessions that approve one proposal at once, one does it, and the other reads that it is decided", async () => {
  const { id, campaign } = await proposed();
  const people = await Promise.all([1, 2].map(() => signedIn(service, { role: "manager" })));
  const shown = await shownTo(people[0]!, id);
  const answers = await Promise.all(
    people.map((one) => one.post(`/console/approvals/${id}/approve`, { shown })),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 409]);
  expect(answers.find(({ status }) => status === 409)!.text).toContain("approved");
  const { runs } = await scenario
    .query(
      (sql) => sql<{ runs: number }[]>`
      select count(*)::int as runs from audit_logs
      where property_id = ${scenario.id} and action = 'send_campaign' and entity_id = ${campaign}`,
    )
    .then(([row]) => row!);
  expect(runs).toBe(1);
});

test("a proposal whose campaign has changed offers no approval, and a form from before it is refused", async () => {
  const { id, campaign } = await proposed();
  const one = await signedIn(service, { role: "manager" });
  const shown = await shownTo(one, id);
  await scenario.call("update_campaign", { id: campaign, subject: "Another subject" });
  const { text } = await one.get(`/console/approvals/${id}/preview`);
  expect(text).toContain("It cannot be approved: this has changed");
  expect(text).not.toContain(`${id}/approve"`);
  const answer = await one.post(`/console/approvals/${id}/approve`, { shown });
  expect(answer.status).not.toBe(200);
  expect((await scenario.get(campaign)).status).toBe("draft");
});

test("a hash that the person was not shown approves nothing, nor does an analyst", async () => {
  const { id, campaign } = await proposed();
  const one = await signedIn(service, { role: "manager" });
  const shown = await shownTo(one, id);
  for (const forged of ["", "0".repeat(64)]) {
    const { status } = await one.post(`/console/approvals/${id}/approve`, { shown: forged });
    expect([400, 409]).toContain(status);
  }
  const analyst = await signedIn(service, { role: "analyst" });
  expect((await analyst.post(`/console/approvals/${id}/approve`, { shown })).status).toBe(403);
  expect((await scenario.get(campaign)).status).toBe("draft");
});
