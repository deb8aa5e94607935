import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let manager: Awaited<ReturnType<TestService["signIn"]>>;
let propertyId: string;
beforeAll(async () => {
  // Without a worker: the checking job runs when a test runs it.
  service = await startService({ role: "web" });
  propertyId = service.tenant.id;
  manager = await service.signIn({ role: "manager" });
  await service.call("update_property", { propertyId, approval_over_players: 1 });
  for (const name of ["one", "two"]) {
    const player = await service.call("create_player", { email: `${name}@example.com` }, propertyId);
    const consent = { propertyId, playerId: player.id, channel: "email", consentGiven: true };
    await service.call("consent_record", consent, propertyId);
  }
});
afterAll(() => service?.stop());

const bearer = ({ token }: { token: string }) => ({ "X-Api-Key": null, Authorization: `Bearer ${token}` });

/** A proposal to send a campaign to both players, by a credential over MCP. */
async function proposedBy(credential: Record<string, string | null>) {
  const campaign = await service.call(
    "create_campaign",
    { name: randomUUID(), channel: "email", audience: "all", subject: "Hello", body_html: "<p>An offer</p>" },
    propertyId,
  );
  const operation = CATALOG.operations.get("send_campaign")!;
  const input = { campaignId: campaign.id };
  const asked = await onceOverMcp(service, operation, input, credential);
  const confirmed = { ...input, confirm_token: asked.data.confirm_token };
  const { data } = await onceOverMcp(service, operation, confirmed, credential);
  expect(data).toMatchObject({ approval_required: true, proposal: { status: "waiting" } });
  return { campaignId: campaign.id as string, proposalId: (data.proposal as { id: string }).id };
}

async function isDead({ campaignId, proposalId }: Awaited<ReturnType<typeof proposedBy>>, words: string) {
  const about = { proposalId, propertyId };
  const seen = await service.post("/api/functions/preview-proposal", about, bearer(manager));
  expect(seen.body).toMatchObject({ stale: [words], preview: null });
  const { shown_hash: shownHash } = seen.body.proposal;
  const done = await service.post(
    "/api/functions/approve-proposal",
    { ...about, shownHash },
    bearer(manager),
  );
  expect(done.status, done.text).toBe(409);
  expect(done.body.error).toContain(`Nothing was done. It has changed since it was proposed: ${words}.`);
  expect((await service.get(`/api/proposals/${proposalId}`)).body.status).toBe("stale");
  expect((await service.get(`/api/campaigns/${campaignId}`)).body.status).toBe("draft");
}

test("nobody approves a proposal of a key that was revoked since", async () => {
  const { api_key, id } = await service.call("create_api_key", { property_id: propertyId, name: "leaked" });
  const proposal = await proposedBy({ "X-Api-Key": api_key });
  await service.call("revoke_api_key", { key_id: id });
  await isDead(proposal, "the API key that proposed it, which has been revoked");
});

test("a key that has only reached its end leaves its proposals to people", async () => {
  const { api_key, id } = await service.call("create_api_key", { property_id: propertyId, name: "short" });
  const { campaignId, proposalId } = await proposedBy({ "X-Api-Key": api_key });
  await service.database.db.asSystem(
    (sql) => sql`update api_keys set expires_at = now() - interval '1 minute' where id = ${id}`,
  );
  const { shown_hash: shownHash } = (await service.get(`/api/proposals/${proposalId}`)).body;
  const body = { proposalId, propertyId, shownHash };
  const done = await service.post("/api/functions/approve-proposal", body, bearer(manager));
  expect(done.status, done.text).toBe(200);
  expect((await service.get(`/api/campaigns/${campaignId}`)).body.status).toBe("queued");
});

test.each(["set_member_role", "remove_member"])(
  "nobody approves a proposal of a person who may act no more, after %s",
  async (operation) => {
    const person = await service.signIn({ role: "manager" });
    const proposal = await proposedBy(bearer(person));
    await service.call(operation, {
      property_id: propertyId,
      user_id: person.id,
      ...(operation === "set_member_role" && { role: "analyst" }),
    });
    await isDead(proposal, "the person who proposed it, who may no longer act in this property");
  },
);

test("a look at a proposal takes one connection, so that several at once do not wait for each other", async () => {
  const few = await startService({ role: "web", databasePool: 2 }, { database: service.database });
  const { api_key } = await service.call("create_api_key", { property_id: propertyId, name: "agent" });
  const { proposalId } = await proposedBy({ "X-Api-Key": api_key });
  const release = Promise.withResolvers<void>();
  const held = few.internals.db.asSystem(() => release.promise);
  try {
    const previewed = few.post(
      "/api/functions/preview-proposal",
      { proposalId, propertyId },
      bearer(manager),
    );
    expect((await previewed).body).toMatchObject({ stale: [] });
  } finally {
    release.resolve();
    await held;
    await few.stop();
  }
});
