import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { shifted } from "../../support/database.ts";
import { overMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let manager: Awaited<ReturnType<TestService["signIn"]>>;
beforeAll(async () => {
  service = await startService();
  manager = await service.signIn({ role: "manager" });
  await service.signIn({ role: "analyst" });
  await set({ approval_over_players: 0 });
});
afterAll(() => service?.stop());

type Input = Record<string, unknown>;

const set = (settings: Input) =>
  service.call("update_property", { propertyId: service.tenant.id, ...settings });
const system = (work: Parameters<typeof service.database.db.asSystem>[0]) =>
  service.database.db.asSystem(work);

/** A campaign that an agent has proposed to send, and the id of the proposal. */
async function proposed(): Promise<{ campaign: string; proposal: string }> {
  const tier = `T-${randomUUID().slice(0, 8)}`;
  const player = await service.post("/api/players", { email: `${tier}@example.com`.toLowerCase(), tier });
  const consent = { playerId: player.body.id, channel: "email", consentGiven: true };
  await service.post("/api/functions/consent-record", { propertyId: service.tenant.id, ...consent });
  const made = await service.post("/api/campaigns", {
    name: tier,
    channel: "email",
    conditions: [{ field: "tier", operator: "eq", value: tier }],
    subject: "Hello",
    body_html: "<p>An offer</p>",
  });
  const operation = CATALOG.operations.get("send_campaign")!;
  const key = { "X-Api-Key": service.tenant.key };
  const { data } = await overMcp(service, operation, { campaignId: made.body.id }, key);
  const { id } = data.proposal as { id: string };
  return { campaign: made.body.id, proposal: id };
}

const proposalOf = async (id: string) => (await service.get(`/api/proposals/${id}`)).body;

async function mails(): Promise<{ recipient: string; subject: string; text: string }[]> {
  await service.idle();
  const { messages } = await service.call("list_platform_messages", { limit: 100 });
  return messages;
}

// The first: nothing waits yet, and nobody has got a mail.
test("people who may approve get one mail with links, and the next only after half an hour", async () => {
  const first = await proposed();
  const [mail, ...others] = await mails();
  expect(others).toEqual([]);
  expect(mail).toMatchObject({
    recipient: manager.email,
    subject: expect.stringMatching(/^1 proposal waits/),
  });
  expect(mail!.text).toContain(`/console/approvals/${first.proposal}`);
  const second = await proposed();
  expect(await mails()).toHaveLength(1);
  await system(
    (sql) =>
      sql`update properties set approvals_mailed_at = ${shifted("approvals_mailed_at", "-31 minutes")}`,
  );
  await system((sql) => sql`update queue set run_at = now() where name = 'send_approval_notice'`);
  service.internals.wake();
  await expect.poll(async () => (await mails()).length).toBe(2);
  const digest = (await mails()).find(({ subject }) => subject.startsWith("2 proposals wait"))!;
  expect(digest.text).toContain(`/console/approvals/${second.proposal}`);
});

test("nobody gets a mail where the property has turned them off, or where nothing waits any more", async () => {
  const before = (await mails()).length;
  await system((sql) => sql`update properties set approvals_mailed_at = null`);
  await set({ approval_mail: "off" });
  await proposed();
  expect(await mails()).toHaveLength(before);
  await set({ approval_mail: "on" });
});

test("a proposal is stale as soon as its campaign has changed, and its event says why", async () => {
  const endpoint = { url: "https://crm.example/hooks", events: ["proposal.stale"] };
  await service.call("create_webhook_endpoint", endpoint, service.tenant.id);
  const { campaign, proposal } = await proposed();
  await service.idle();
  expect(await proposalOf(proposal)).toMatchObject({ status: "waiting" });
  await service.call("update_campaign", { id: campaign, subject: "Another offer" }, service.tenant.id);
  await service.idle();
  const stale = await proposalOf(proposal);
  expect(stale).toMatchObject({ status: "stale", reason: expect.stringContaining("subject") });
  const [event] = await service.database.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ data: { object: object } }[]>`
      select data from outbox where property_id = ${service.tenant.id} and type = 'proposal.stale'`,
  );
  expect(event!.data.object).toMatchObject({ id: proposal, reason: stale.reason });
});

test("the sweep finds a proposal whose campaign was sent by another way, and leaves the others", async () => {
  const [gone, stays] = [await proposed(), await proposed()];
  // A signed-in person acts at once.
  const person = { "X-Api-Key": null, Authorization: `Bearer ${manager.token}` };
  const sent = await service.post("/api/functions/send-campaign", { campaignId: gone.campaign }, person);
  expect(sent.status).toBe(200);
  await service.idle();
  await system(
    (sql) =>
      sql`insert into queue (id, name, input, max_attempts) values (uuid_v7(), 'sweep_proposals', '{}', 3)`,
  );
  service.internals.wake();
  await expect.poll(async () => (await proposalOf(gone.proposal)).status).toBe("stale");
  await service.idle();
  expect(await proposalOf(stays.proposal)).toMatchObject({ status: "waiting" });
});
