import { randomUUID } from "node:crypto";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Fragment, sql } from "#db/sql.ts";
import { addressHash } from "#tools/people/address.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { webhookReceiver } from "../../support/servers/receivers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let here: ReturnType<typeof scenarioIn>;
let made = 0;

beforeAll(async () => {
  service = await startService();
  here = scenarioIn(service);
});
afterAll(() => service.stop());

const propertyId = () => service.tenant.id;
const contact = () => {
  const number = ++made;
  return { email: `gone${number}@example.com`, phone: `+1202555${String(number).padStart(4, "0")}` };
};
const erase = (playerId: string, more: object = {}) =>
  service.post("/api/functions/data-deletion", { propertyId: propertyId(), playerId, ...more });
const exported = async (playerId: string) =>
  (await service.post("/api/functions/data-export", { propertyId: propertyId(), playerId })).body;
const rows = (statement: Fragment) =>
  service.internals.db.asProperty(propertyId(), (run) => run`${statement}`);

async function newPlayer(fields: object = {}) {
  const address = contact();
  const id = await here.player({ ...address, first_name: "Ana", last_name: "Gone", ...fields });
  return { id, ...address };
}

test("an export holds everything that knows the player, and says that it was made", async () => {
  const player = await newPlayer({ birth_date: "1980-01-01" });
  const segment = await here.call("create_segment", { name: `vips ${player.id}`, type: "static" });
  await here.call("create_segment_member", { segment_id: segment.id, player_id: player.id });
  await here.call("create_suppression", { channel: "email", address: player.email });
  await here.call("create_dnc_entry", { phone: player.phone });
  const all = await exported(player.id);
  expect(all).toMatchObject({
    export_version: 1,
    property_id: propertyId(),
    player: { id: player.id, email: player.email, first_name: "Ana" },
    consent_records: [{ channel: "email", consent_source: "desk" }],
    suppressions: [{ address: player.email, reason: "manual", player_id: null }],
    dnc_entries: [{ phone: player.phone }],
    segments: [{ segment_id: segment.id, name: `vips ${player.id}` }],
    game_plays: [],
    inbox_messages: [],
    journey_enrollments: [],
    social_shares: [],
    campaign_sends: [],
  });
  expect(all.audit_entries.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(["create_player", "consent_record"]),
  );
  expect(JSON.stringify(all)).not.toMatch(/_hash|salt/);
  for (const name of ["zones", "region", "bars_email", "bars_sms", "bars_voice"]) {
    expect(all.player).not.toHaveProperty(name);
  }
  const [request] = (await service.get(`/api/privacy_requests?player_id.eq=${player.id}&type.eq=export`))
    .body;
  expect(request).toMatchObject({ status: "completed" });
  const [audit] = (await service.get(`/api/audit_logs?action.eq=data_export&entity_id.eq=${player.id}`)).body;
  expect(audit).toMatchObject({ actor: { type: "api_key" }, diff: { request_id: request.id } });
  expect(
    (await service.post("/api/functions/data-export", { propertyId: propertyId(), playerId: randomUUID() }))
      .status,
  ).toBe(404);
});

test("an export is also a ZIP file with a JSON file for each of its parts", async () => {
  const player = await newPlayer({ first_name: "Zoë" });
  const path = "/api/functions/data-export";
  const input = { propertyId: propertyId(), playerId: player.id };
  const response = await fetch(`${service.baseUrl}${path}?format=zip`, {
    method: "POST",
    headers: { "X-Api-Key": service.tenant.key, "Content-Type": "application/json" },
    body: JSON.stringify(input),
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/zip"]);
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="player-data.zip"');
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  const parts = Object.fromEntries(
    Object.entries(files).map(([name, bytes]) => [name, JSON.parse(Buffer.from(bytes).toString())]),
  );
  const { export_version, generated_at: _, property_id, ...lists } = await exported(player.id);
  expect(parts["about.json"]).toMatchObject({ export_version, property_id });
  expect(Object.keys(parts).sort()).toEqual(
    [...Object.keys(lists), "about"].map((name) => `${name}.json`).sort(),
  );
  expect(parts["player.json"]).toEqual(lists.player);
  expect(parts["consent_records.json"]).toEqual(lists.consent_records);
  expect((await service.post(`${path}?format=tar`, input)).status).toBe(400);
  expect((await service.post(`${path}?format=zip`, { ...input, playerId: randomUUID() })).status).toBe(404);
});

test("an erased player is gone; sends and consents stay without a name, and the address is barred by its hash", async () => {
  const player = await newPlayer();
  await here.call("update_player", { id: player.id, email: `second-${player.email}` });
  await here.call("create_suppression", { channel: "email", address: player.email, source: "call" });
  const campaign = await here.campaign();
  await here.call("send_campaign", { campaignId: campaign, propertyId: propertyId() });
  await service.idle();
  await here.call("create_dnc_entry", { phone: player.phone, list: "national", note: "asked Ana" });
  const { body, status } = await erase(player.id, {
    reason: "asked",
    requestedBy: (await service.signIn({ platformAdmin: true })).id,
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    success: true,
    deleted: { mailbox_messages: 1 },
    anonymized: { players: 1, campaign_sends: 1, consent_records: 1, dnc_entries: 1 },
  });
  expect(body.retained.map(({ table }: { table: string }) => table)).toEqual(
    expect.arrayContaining(["suppressions", "dnc_entries", "consent_records"]),
  );
  expect((await service.get(`/api/players/${player.id}`)).status).toBe(404);
  const [send] = await rows(
    sql`select * from campaign_sends where campaign_id = ${campaign} and anon_id is not null`,
  );
  expect(send).toMatchObject({ player_id: null, address_hash: null, address_masked: null, status: "sent" });
  expect(send!.sent_at).not.toBeNull();
  const property = await service.internals.directory.property(propertyId());
  for (const address of [`second-${player.email}`, player.phone]) {
    const hash = addressHash(property!.pepper, address).toString("hex");
    const listed = (await service.get(`/api/suppressions?address_hash.eq=${hash}`)).body;
    expect(listed).toMatchObject([{ reason: "erased", channel: "all", address: null, player_id: null }]);
    const check = await service.post("/api/functions/compliance-check", {
      propertyId: propertyId(),
      channel: address.includes("@") ? "email" : "sms",
      ...(address.includes("@") ? { email: address } : { phone: address }),
    });
    expect(check.body.reasons).toContain("erased");
  }
  const [audit] = (
    await service.get(`/api/audit_logs?action.eq=data_deletion&entity_id.eq=${body.request_id}`)
  ).body;
  expect(audit).toMatchObject({ entity: "privacy_requests", diff: { player_id: player.id } });
  const request = (await service.get(`/api/privacy_requests/${body.request_id}`)).body;
  expect(request).toMatchObject({ type: "deletion", status: "completed", player_id: player.id, note: null });
});

test("a second erasure, also at the same moment, is answered like the first", async () => {
  const player = await newPlayer();
  const [one, other] = await Promise.all([erase(player.id), erase(player.id)]);
  expect([one.status, other.status]).toEqual([200, 200]);
  expect(one.body).toEqual(other.body);
  expect((await erase(player.id)).body).toEqual(one.body);
  expect((await erase(randomUUID())).status).toBe(404);
});

test("a legal hold keeps the data until a manager lifts it", async () => {
  const player = await newPlayer();
  const { token } = await service.signIn({ role: "manager" });
  const hold = (legalHold: boolean, headers: Record<string, string | null>) =>
    service.post(
      "/api/functions/set-legal-hold",
      { propertyId: propertyId(), playerId: player.id, legalHold, reason: "claim 7" },
      headers,
    );
  const manager = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  expect((await hold(true, {})).status).toBe(403);
  expect(
    (await service.request("PATCH", `/api/players/${player.id}`, { body: { legal_hold: true } })).status,
  ).toBe(400);
  expect((await hold(true, manager)).body).toEqual({ success: true, legal_hold: true });
  const refused = await erase(player.id);
  expect([refused.status, refused.body.code]).toEqual([409, "legal_hold"]);
  expect((await service.get(`/api/players/${player.id}`)).body).toMatchObject({ email: player.email });
  await hold(false, manager);
  expect((await erase(player.id)).status).toBe(200);
});

test("the person is not stored again: neither created, nor changed into, nor imported", async () => {
  const player = await newPlayer();
  const other = await newPlayer();
  await erase(player.id);
  expect((await service.post("/api/players", { email: player.email.toUpperCase() })).status).toBe(409);
  expect((await service.post("/api/players", { phone: player.phone })).status).toBe(409);
  const changed = await service.request("PATCH", `/api/players/${other.id}`, {
    body: { email: player.email },
  });
  expect(changed.status).toBe(409);
  const job = await service.post("/api/import_jobs", {
    csv: `email,phone,adt\n${player.email},,1\nnew@example.com,${player.phone},2\n${player.email},nonsense,3\nok${made}@example.com,,4\n`,
  });
  await service.idle();
  const done = (await service.get(`/api/import_jobs/${job.body.id}`)).body;
  expect(done).toMatchObject({ status: "completed", created_count: 1, failed: 3 });
  const errors = (await service.get(`/api/import_jobs/${job.body.id}/errors`)).body;
  expect(errors).toMatchObject([
    { row: 1, code: "erased", original_row: null, value: null },
    { row: 2, code: "erased", original_row: null, value: null },
    { row: 3, code: "invalid_phone", original_row: null, value: null },
  ]);
});

test("a request has the deadline of its regulation, and the function completes it", async () => {
  const player = await newPlayer();
  const made = await service.post("/api/privacy_requests", {
    player_id: player.id,
    type: "deletion",
    regulation: "ccpa",
    received_at: "2026-01-01T00:00:00Z",
    note: "by letter",
  });
  expect(made.body).toMatchObject({ status: "received", due_at: "2026-02-15T00:00:00+00:00" });
  const gdpr = await service.post("/api/privacy_requests", {
    type: "export",
    received_at: "2026-01-31T00:00:00Z",
  });
  expect(gdpr.body).toMatchObject({ due_at: "2026-02-28T00:00:00+00:00", player_id: null });
  expect((await service.post("/api/privacy_requests", { type: "export", regulation: "lgpd" })).status).toBe(
    400,
  );
  await service.call("update_property", {
    propertyId: propertyId(),
    privacy_deadlines: { gdpr: "P1M", ccpa: "P45D", lgpd: "P15D" },
  });
  expect((await service.post("/api/privacy_requests", { type: "export", regulation: "lgpd" })).status).toBe(
    201,
  );
  const admin = await service.signIn({ platformAdmin: true });
  const nobody = await erase(player.id, { requestedBy: randomUUID() });
  expect([nobody.status, nobody.body.details]).toEqual([
    400,
    [{ field: "requestedBy", message: "is no user of this property; list_users shows the users" }],
  ]);
  expect((await erase(player.id, { requestedBy: admin.id })).body.request_id).toBe(made.body.id);
  expect((await service.get(`/api/privacy_requests/${made.body.id}`)).body.requested_by).toBe(admin.id);
  const closed = await service.request("PATCH", `/api/privacy_requests/${made.body.id}`, {
    body: { status: "received" },
  });
  expect(closed.status).toBe(409);
});

test("receivers hear of the erasure, and of nothing that was still to be told about the person", async () => {
  const receiver = await webhookReceiver();
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  const player = (await service.post("/api/players", contact(), headers)).body;
  await service.post(
    "/api/webhook_endpoints",
    { url: receiver.url, events: ["*"], include_pii: true },
    headers,
  );
  await service.internals.db.asProperty(tenant.id, async (sql) => {
    const [event] = await sql<{ id: string }[]>`
      insert into outbox (property_id, id, type, data)
      values (${tenant.id}, uuid_v7(), 'player.updated', ${{ object: player } as never}) returning id`;
    await sql`
      insert into webhook_deliveries (property_id, event_id, event_type, endpoint_id, next_attempt_at)
      select ${tenant.id}, ${event!.id}, 'player.updated', id, now() + interval '1 hour' from webhook_endpoints
      where property_id = ${tenant.id} returning 1`;
  });
  const { body } = await service.post(
    "/api/functions/data-deletion",
    { propertyId: tenant.id, playerId: player.id },
    headers,
  );
  await service.idle();
  expect(body.deleted).toMatchObject({ outbox: 1, webhook_deliveries: 1 });
  expect(receiver.received.map(({ raw }) => JSON.parse(raw))).toMatchObject([
    { type: "player.erased", data: { object: { id: player.id, request_id: body.request_id } } },
  ]);
  await receiver.stop();
});
