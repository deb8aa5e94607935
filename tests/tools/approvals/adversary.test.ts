import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { overMcp, overRest } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

/*
 * A program with a key of the property wants to reach ten players, and a person must approve more than one. It has REST
 * and MCP, and all that the property's people have approved before.
 */
let service: TestService;
let person: { "X-Api-Key": null; Authorization: string };
let propertyId: string;
const PLAYERS = 10;

beforeAll(async () => {
  service = await startService();
  propertyId = service.tenant.id;
  const { token } = await service.signIn({ role: "manager" });
  person = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  const scenario = scenarioIn(service);
  await scenario.crowd(PLAYERS);
  await scenario.query(
    (sql) => sql`
      update players set tier = case player_id when 'p-1' then 'One' else 'Many' end, first_name = null
      where property_id = ${propertyId}`,
  );
  await service.call("update_property", { propertyId, approval_over_players: 1 });
});
afterAll(() => service?.stop());

type Input = Record<string, unknown>;
const made = async (name: string, input: Input) =>
  (await service.call(name, input, propertyId)) as { id: string };
const post = async (path: string, body: object, headers = {}) => service.post(path, body, headers);
const message = { channel: "email", subject: "Hello", body_html: "<p>An offer</p>" };
const ALL = { audience: "all" };
const one = { conditions: [{ field: "tier", operator: "eq", value: "One" }] };
const many = { conditions: [{ field: "player_id", operator: "is_set" }] };

async function reached(): Promise<number> {
  await service.idle();
  const sent = await service.database.db.asProperty(
    propertyId,
    (sql) => sql<{ count: number }[]>`
      select count(*)::int as count from mailbox_messages where property_id = ${propertyId}`,
  );
  return sent[0]!.count;
}

let held = 0;
/** A call by the key that must end as a proposal: over REST, the next one over MCP (with PROOF=full over both). */
async function isHeld(name: string, input: Input): Promise<void> {
  const operation = CATALOG.operations.get(name)!;
  held += 1;
  if (isFull || held % 2 === 1) {
    const full = operation.property ? { [operation.property]: propertyId, ...input } : input;
    const rest = await overRest(service, operation, full);
    expect(rest.body, `${name} over REST`).toMatchObject({ code: "approval_required" });
  }
  if (isFull || held % 2 === 0) {
    const told = await overMcp(service, operation, input);
    expect(told.data, `${name} over MCP`).toMatchObject({ approval_required: true });
  }
}

/** A campaign that a person has scheduled for years ahead. */
async function scheduled(fields: Input): Promise<string> {
  const { id } = await made("create_campaign", { name: `C ${randomUUID()}`, ...message, ...fields });
  const body = {
    campaign_id: id,
    scheduled_at: "2036-01-01T20:00:00Z",
    segment_id: fields.segment_id ?? null,
  };
  const done = await post("/api/functions/schedule-campaign", { ...body, property_id: propertyId }, person);
  expect(done.status, done.text).toBe(200);
  return id;
}

test("sending, scheduling and a key without confirmations reach nobody", async () => {
  const { id: campaignId } = await made("create_campaign", { name: "All", ...message, ...ALL });
  await isHeld("send_campaign", { campaignId });
  await isHeld("schedule_campaign", {
    campaign_id: campaignId,
    scheduled_at: "2036-01-01T20:00:00Z",
    segment_id: null,
  });
  const keyed = { property_id: propertyId, name: "bold", agent_confirmation: "off" };
  const { api_key } = await service.call("create_api_key", keyed);
  const operation = CATALOG.operations.get("send_campaign")!;
  const bold = await overMcp(service, operation, { campaignId }, { "X-Api-Key": api_key });
  expect(bold.data).toMatchObject({ approval_required: true });
  expect(await reached()).toBe(0);
});

test("the preview of a change has the whole message to a chosen player, as the change would leave it", async () => {
  const id = await scheduled(ALL);
  const change = { id, subject: "{{ first_name | default: 'Friend' }}, something else" };
  const held = await overRest(service, CATALOG.operations.get("update_campaign")!, change);
  const proposalId = held.body.details.find(
    ({ field }: { field: string }) => field === "proposal_id",
  ).message;
  const [player] = (await service.get("/api/players?tier=eq.Many&limit=1")).body as { id: string }[];
  await service.request("PATCH", `/api/players/${player!.id}`, { body: { first_name: "Zoë" } });
  const preview = async (playerId: string) =>
    post("/api/functions/preview-proposal", { proposalId, propertyId, playerId }, person);
  expect((await preview(player!.id)).body).toMatchObject({
    stale: [],
    shown: { message: { player_id: player!.id, subject: "Zoë, something else" }, problems: [] },
  });
  expect((await preview(randomUUID())).status).toBe(404);
  expect((await service.get(`/api/campaigns/${id}`)).body.subject).toBe(message.subject);
});

test("an approved call cannot be changed into another one", async () => {
  const template = await made("create_template", {
    name: "T",
    channel: "email",
    subject: "Hi",
    html: "<p>Hi</p>",
  });
  const segment = await made("create_segment", { name: "All of them", ...many });
  const list = await made("create_segment", { name: "A list", type: "static" });
  const rows = (await service.get("/api/players?tier=eq.Many")).body as { id: string }[];
  await made("create_segment_member", { segment_id: list.id, player_id: rows[0]!.id });
  await made("create_segment_member", { segment_id: list.id, player_id: rows[1]!.id });
  const byTemplate = { channel: "email", subject: undefined, body_html: undefined, template_id: template.id };
  const campaign = await scheduled({ ...byTemplate, segment_id: segment.id });
  await scheduled({ segment_id: list.id });
  await isHeld("update_campaign", { id: campaign, subject: "Something else" });
  await isHeld("update_template", { id: template.id, subject: "Something else" });
  const others = [{ field: "tier", operator: "is_set" }];
  await isHeld("update_segment", { id: segment.id, conditions: others });
  await isHeld("create_segment_member", { segment_id: list.id, player_id: rows[2]!.id });
  await isHeld("add_segment_members", { segmentId: list.id, playerIds: [rows[2]!.id] });
  const changed = { subject: "Something else" };
  const chosen = await service.request("PATCH", "/api/campaigns?status=eq.scheduled", { body: changed });
  expect(chosen.body).toMatchObject({ code: "approval_required" });
  const upserted = await service.post("/api/templates?on_conflict=id", [{ id: template.id, ...changed }], {
    Prefer: "resolution=merge-duplicates",
  });
  expect(upserted.body, upserted.text).toMatchObject({ code: "approval_required" });
  const single = await service.post(
    "/api/templates?on_conflict=id",
    { id: template.id, ...changed },
    {
      Prefer: "resolution=merge-duplicates",
    },
  );
  expect(single.body, single.text).toMatchObject({ code: "approval_required" });
  expect((await service.get(`/api/campaigns/${campaign}`)).body.subject).toBeNull();
  expect((await service.get(`/api/templates/${template.id}`)).body.subject).toBe("Hi");
  // It may be taken back to a draft, which is then another campaign to approve.
  await post("/api/functions/unschedule-campaign", { campaignId: campaign, propertyId });
  expect((await service.request("PATCH", `/api/campaigns/${campaign}`, { body: changed })).status).toBe(200);
  await isHeld("send_campaign", { campaignId: campaign });
  expect(await reached()).toBe(0);
});

test("a small audience that grows after it was sent off is held", async () => {
  const before = await reached();
  await service.call("update_property", { propertyId, approval_over_players: 2 });
  const segment = await made("create_segment", { name: "Soon more", ...one });
  const { id } = await made("create_campaign", { name: "Small", ...message, segment_id: segment.id });
  const body = { campaign_id: id, scheduled_at: "2036-01-01T20:00:00Z", segment_id: segment.id };
  const done = await post("/api/functions/schedule-campaign", { ...body, property_id: propertyId });
  expect(done.body, done.text).toMatchObject({ campaign: { status: "scheduled", approved: { count: 1 } } });
  for (const player of (await service.get("/api/players?tier=eq.Many&limit=5")).body) {
    await service.request("PATCH", `/api/players/${player.id}`, { body: { tier: "One" } });
  }
  await service.database.db.asProperty(
    propertyId,
    (sql) => sql`
      update campaigns set scheduled_at = now(), fires_at = now()
      where property_id = ${propertyId} and id = ${id}`,
  );
  const fire = CATALOG.jobs.get("fire_campaign")!;
  await service.internals.db.asSystem(
    (sql) => sql`
      update queue set run_at = now() where name = ${fire.name} and input ->> 'campaignId' = ${id}`,
  );
  service.internals.wake();
  await expect
    .poll(async () => (await service.get(`/api/campaigns/${id}`)).body.status_reason)
    .toContain("grown from 1 to 6");
  await isHeld("resume_campaign", { campaignId: id });
  expect(await reached()).toBe(before);
  await service.call("update_property", { propertyId, approval_over_players: 1 });
});

test("no journey and no game gets round it", async () => {
  const before = await reached();
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "mail", type: "message", config: message },
    { id: "end", type: "exit", config: {} },
  ];
  const edges = [
    { from: "in", to: "mail" },
    { from: "mail", to: "end" },
  ];
  const { id: journeyId } = await made("create_journey", { name: "J", draft_definition: { nodes, edges } });
  await isHeld("publish_journey", { journeyId });
  const { shown_hash: shownHash, id: proposalId } = (
    await service.get("/api/proposals?tool=eq.publish_journey&status=eq.waiting&limit=1")
  ).body[0];
  const approved = await post(
    "/api/functions/approve-proposal",
    { propertyId, proposalId, shownHash },
    person,
  );
  expect(approved.body, approved.text).toMatchObject({ result: { journey: { status: "active" } } });
  const players = (await service.get("/api/players?limit=20")).body as { id: string }[];
  await isHeld("enroll_players", { journeyId, playerIds: players.map(({ id }) => id) });
  // One a day is below the limit, and the second one is not.
  const enroll = (player: string) =>
    post("/api/journey_enrollments", { journey_id: journeyId, player_id: player });
  const answers = [];
  for (const { id } of players.slice(0, 3)) answers.push((await enroll(id)).status);
  expect(answers.filter((status) => status === 409).length).toBeGreaterThanOrEqual(2);
  await post("/api/functions/pause-journey", { journeyId, propertyId });
  await isHeld("resume_journey", { journeyId });
  expect(await reached()).toBeLessThanOrEqual(before + 1);
});

test("a template that changes after a journey was proposed is not published", async () => {
  const template = await made("create_template", {
    name: "J",
    channel: "email",
    subject: "Hi",
    html: "<p>Hi</p>",
  });
  const nodes = [
    { id: "in", type: "trigger", config: { on: "api" } },
    { id: "mail", type: "message", config: { channel: "email", template_id: template.id } },
  ];
  const draft_definition = { nodes, edges: [{ from: "in", to: "mail" }] };
  const { id: journeyId } = await made("create_journey", { name: "By template", draft_definition });
  const answered = await post("/api/functions/publish-journey", { journeyId, propertyId });
  const [{ message: proposalId }] = answered.body.details;
  await service.request("PATCH", `/api/templates/${template.id}`, { body: { subject: "Bye" } });
  const { shown_hash: shownHash } = (await service.get(`/api/proposals/${proposalId}`)).body;
  const approved = await post(
    "/api/functions/approve-proposal",
    { propertyId, proposalId, shownHash },
    person,
  );
  expect(approved.status).toBe(409);
  expect(approved.body.error).toContain("the message mail");
  expect((await service.get(`/api/journeys/${journeyId}`)).body.status).toBe("draft");
});

test("a list that gets other players after it was proposed is not sent to", async () => {
  const list = await made("create_segment", { name: "To swap", type: "static" });
  const players = (await service.get("/api/players?limit=4")).body as { id: string }[];
  const put = (player: string) => made("create_segment_member", { segment_id: list.id, player_id: player });
  const [first] = [await put(players[0]!.id), await put(players[1]!.id)];
  const { id: campaignId } = await made("create_campaign", { name: "L", ...message, segment_id: list.id });
  const answered = await post("/api/functions/send-campaign", { campaignId, propertyId });
  const [{ message: proposalId }] = answered.body.details;
  await service.request("DELETE", `/api/segment_members/${first!.id}`);
  expect(
    (await post("/api/segment_members", { segment_id: list.id, player_id: players[2]!.id })).status,
  ).toBe(201);
  const { shown_hash: shownHash } = (await service.get(`/api/proposals/${proposalId}`)).body;
  const approved = await post(
    "/api/functions/approve-proposal",
    { propertyId, proposalId, shownHash },
    person,
  );
  expect(approved.body.error).toContain('the players of the list "To swap"');
});

test("the same call again is the same proposal", async () => {
  const { id: campaignId } = await made("create_campaign", { name: "Again", ...message, ...ALL });
  const ids = [];
  for (const _ of [1, 2, 3]) {
    const { body } = await post("/api/functions/send-campaign", { campaignId, propertyId });
    ids.push(body.details[0].message);
  }
  expect(new Set(ids).size).toBe(1);
});
