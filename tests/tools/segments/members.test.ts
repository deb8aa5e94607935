import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { refused } from "../../support/answers.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { newScenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
const ids: string[] = [];
let segment: string;
beforeAll(async () => {
  service = await startService({ role: "web" });
  for (const adt of [10, 20, 30]) {
    ids.push((await service.post("/api/players", { player_id: `m-${adt}`, adt })).body.id);
  }
  const { body } = await service.post("/api/segments", {
    name: "High",
    conditions: [
      { field: "adt", operator: "gte", value: 20 },
      // By the property's calendar.
      { field: "birth_date", operator: "not_in_last_days", value: 1 },
    ],
  });
  segment = body.id;
});
afterAll(() => service?.stop());

test("the members of a dynamic segment are those whom its rules match now, in pages too", async () => {
  const rival = await service.newTenant();
  await service.post("/api/players", { player_id: "m-40", adt: 40 }, { "X-Api-Key": rival.key });
  const address = `/api/segment_members?segment_id.eq=${segment}&order=created_at`;
  const { body } = await service.get(address);
  expect(body.map((row: { player_id: string }) => row.player_id)).toEqual([ids[1], ids[2]]);
  expect(body[0]).toMatchObject({ segment_id: segment, source: "rule", added_at: null });
  const first = await service.get(`${address}&limit=1&cursor=`);
  expect(first.body).toHaveLength(1);
  const second = await service.get(`${address}&limit=1&cursor=${first.headers.get("X-Next-Cursor")}`);
  expect(second.body[0].player_id).toBe(ids[2]);
  const one = await service.get(`/api/segment_members?segment_id.eq=${segment}&player_id.eq=${ids[0]}`);
  expect(one.body).toEqual([]);
  const theirs = await service.get(address, { "X-Api-Key": rival.key });
  expect(theirs.body).toEqual([]);
});

test("a player who is not there, or in the list already, is named", async () => {
  const { body: list } = await service.post("/api/segments", { name: "List", type: "static" });
  const put = (player_id: string) => service.post("/api/segment_members", { segment_id: list.id, player_id });
  expect((await put(ids[0]!)).status).toBe(201);
  const twice = await refused(409, "conflict", put(ids[0]!));
  expect(twice.body.error).toBe("player_id: this player is in the segment already.");
  const stranger = await refused(404, "not_found", put("01900000-0000-7000-8000-000000000000"));
  expect(stranger.body.error).toMatch(/^player_id: no player 0190/);
  expect((await service.get(`/api/segment_members?segment_id.eq=${list.id}`)).body).toHaveLength(1);
});

test("many players come onto a list by one call: by ids, by the operator's numbers, or by rules", async () => {
  const { body: list } = await service.post("/api/segments", { name: "Many", type: "static" });
  await service.post("/api/players", { player_id: "m-low", adt: 1 });
  const add = (who: object) =>
    service.post("/api/functions/add-segment-members", {
      ...{ segmentId: list.id, propertyId: service.tenant.id, ...who },
    });
  const counts = async (who: object) => {
    const { status, body } = await add(who);
    return [status, body.added, body.already_members];
  };
  expect(await counts({ playerNumbers: ["m-10", "m-20", "m-10"] })).toEqual([200, 2, 0]);
  expect(await counts({ playerIds: [ids[1], ids[1]!.toUpperCase()] })).toEqual([200, 0, 1]);
  const rules = [{ field: "adt", operator: "gte", value: 20 }];
  expect(await counts({ conditions: rules, dry_run: true })).toEqual([200, 1, 1]);
  expect(await counts({ conditions: rules })).toEqual([200, 1, 1]);
  const { body: members } = await service.get(`/api/segment_members?segment_id.eq=${list.id}&order=added_at`);
  expect(members.map((row: { player_id: string }) => row.player_id).toSorted()).toEqual(ids.toSorted());
  const stranger = await refused(404, "not_found", add({ playerNumbers: ["m-low", "nobody", "no one"] }));
  expect(stranger.body.error).toBe(
    'playerNumbers: this property has no player "nobody", "no one". The list stays as it is',
  );
  const { body: gone } = await service.post("/api/players", { player_id: "m-gone" });
  await service.request("DELETE", `/api/players/${gone.id}`);
  await refused(404, "not_found", add({ playerIds: [gone.id] }));
  await refused(404, "not_found", add({ playerNumbers: ["m-gone"] }));
  const either = [...rules, { field: "player_id", operator: "in", value: ["m-low", "m-gone"] }];
  expect(await counts({ conditions: either, logic: "or" })).toEqual([200, 1, 2]);
  const { body: audited } = await service.get(
    "/api/audit_logs?action=eq.add_segment_members&order=created_at.desc&limit=1",
  );
  expect(audited).toMatchObject([{ entity: "segments", entity_id: list.id, diff: { added: 1 } }]);
  const { body: old } = await service.post("/api/segments", { name: "Old", type: "static" });
  await service.request("DELETE", `/api/segments/${old.id}`);
  await refused(404, "not_found", add({ segmentId: old.id, playerIds: ids }));
  await refused(400, "invalid", add({}));
  await refused(400, "invalid", add({ playerIds: ids, playerNumbers: ["m-10"] }));
  await refused(409, "conflict", add({ segmentId: segment, playerIds: ids }));
  const rival = await service.newTenant();
  const theirs = { segmentId: list.id, propertyId: rival.id, playerIds: ids };
  await refused(
    404,
    "not_found",
    service.post("/api/functions/add-segment-members", theirs, { "X-Api-Key": rival.key }),
  );
  const { body: own } = await service.post(
    "/api/segments",
    { name: "Theirs", type: "static" },
    { "X-Api-Key": rival.key },
  );
  const stolen = { ...theirs, segmentId: own.id, playerNumbers: ["m-10"], playerIds: undefined };
  await refused(
    404,
    "not_found",
    service.post("/api/functions/add-segment-members", stolen, { "X-Api-Key": rival.key }),
  );
});

test("many players go off a list by one call, in the same three ways, and an agent confirms it", async () => {
  const { id: propertyId } = service.tenant;
  const { body: list } = await service.post("/api/segments", { name: "Fewer", type: "static" });
  const hook = { url: "https://example.com/hook", events: ["player.segment_exited"] };
  await service.call("create_webhook_endpoint", hook, propertyId);
  const about = { segmentId: list.id, propertyId };
  await service.post("/api/functions/add-segment-members", { ...about, playerIds: ids });
  const remove = (who: object) => service.post("/api/functions/remove-segment-members", { ...about, ...who });
  const counts = async (who: object) => {
    const { status, body } = await remove(who);
    return [status, body.removed, body.not_members];
  };
  const members = async () => (await service.get(`/api/segment_members?segment_id.eq=${list.id}`)).body;
  const rules = [{ field: "adt", operator: "gte", value: 20 }];
  expect(await counts({ conditions: rules, dry_run: true })).toEqual([200, 2, 0]);
  expect(await members()).toHaveLength(3);
  expect(await counts({ playerNumbers: ["m-10"] })).toEqual([200, 1, 0]);
  expect(await counts({ playerIds: ids.slice(0, 2) })).toEqual([200, 1, 1]);
  const tool = CATALOG.operations.get("remove_segment_members")!;
  const asked = await onceOverMcp(service, tool, { segmentId: list.id, conditions: rules });
  expect(asked.data.message).toContain('This takes 1 player off the list "Fewer".');
  expect(await members()).toHaveLength(1);
  const { confirm_token } = asked.data;
  const done = await onceOverMcp(service, tool, { segmentId: list.id, conditions: rules, confirm_token });
  expect(done.data).toMatchObject({ removed: 1, not_members: 1 });
  expect(await members()).toEqual([]);
  const told = await service.database.db.asProperty(
    propertyId,
    (sql) => sql<{ player: string }[]>`
      select data -> 'object' ->> 'player_id' as player from outbox
      where property_id = ${propertyId} and type = 'player.segment_exited'`,
  );
  expect(told.map(({ player }) => player).toSorted()).toEqual(ids.toSorted());
  await refused(404, "not_found", remove({ playerNumbers: ["nobody"] }));
  await refused(409, "conflict", remove({ segmentId: segment, playerIds: ids }));
});

test("an agent who takes players off a list confirms who joins a scheduled campaign by it, and how many leave the list", async () => {
  const scenario = await newScenario(service);
  const { id: propertyId, call } = scenario;
  const { api_key } = await service.call("create_api_key", { property_id: propertyId, name: "agent" });
  const player = await scenario.player({ player_id: "barred", email: "barred@example.com", tier: "A" });
  const { id: other } = await call("create_player", { player_id: "second" });
  const list = await call("create_segment", { name: "Not now", type: "static" });
  await call("add_segment_members", { segmentId: list.id, propertyId, playerIds: [player, other] });
  const rules = await call("create_segment", {
    name: "All others",
    conditions: [{ field: `segment.${list.id}`, operator: "not_in_segment" }],
  });
  const content = { subject: "Hello", body_html: "<p>Hello</p>", segment_id: rules.id };
  const { id: campaignId } = await call("create_campaign", { name: "Weekend", ...content });
  const timed = { scheduled_at: "2036-01-01T20:00:00Z", segment_id: rules.id };
  await call("schedule_campaign", { campaignId, propertyId, ...timed });
  const conditions = [{ field: "tier", operator: "eq", value: "A" }];
  const remove = (more: object = {}) =>
    onceOverMcp(
      service,
      CATALOG.operations.get("remove_segment_members")!,
      { segmentId: list.id, conditions, ...more },
      { "X-Api-Key": api_key },
    );
  const { data } = await remove();
  for (const sentence of [
    'This takes 1 player off the list "Not now".',
    'This changes the list "Not now", and with it who gets the campaign "Weekend".',
    'This adds the player "barred" to those who get the campaign "Weekend", which is scheduled.',
  ]) {
    expect(data.message).toContain(sentence);
  }
  await call("update_player", { id: other, tier: "A" });
  const again = await remove({ confirm_token: data.confirm_token });
  expect(again.data).toMatchObject({ confirmation_required: true, removed: 2 });
  expect(again.data.message).toContain("It has changed since that preview.");
});

test("no call puts more than 10,000 players on a list, and so many are put there at once", async () => {
  const { id: propertyId, key } = await service.newTenant();
  const { body: list } = await service.post(
    "/api/segments",
    { name: "Huge", type: "static" },
    { "X-Api-Key": key },
  );
  await service.database.db.asProperty(
    propertyId,
    (sql) => sql`
      insert into players (property_id, player_id, tier)
      select ${propertyId}::uuid, 'huge-' || n, case when n = 0 then 'Last' else 'Huge' end
      from generate_series(0, 10000) n
      returning 1`,
  );
  const add = (condition: object) =>
    service.post(
      "/api/functions/add-segment-members",
      { propertyId, segmentId: list.id, conditions: [{ field: "tier", ...condition }] },
      { "X-Api-Key": key },
    );
  const most = await refused(400, "invalid", add({ operator: "is_set" }));
  expect(most.body.error).toContain("match more than 10000 players");
  expect(await add({ operator: "eq", value: "Huge" })).toMatchObject({
    status: 200,
    body: { added: 10_000, already_members: 0 },
  });
});

test("an agent is asked before many players come onto the list of a campaign that was approved without them", async () => {
  const { body: list } = await service.post("/api/segments", { name: "Approved list", type: "static" });
  await service.post("/api/segment_members", { segment_id: list.id, player_id: ids[2] });
  const { id: property } = service.tenant;
  const mail = {
    name: "To the list",
    channel: "email",
    subject: "Hi",
    body_text: "Hello",
    segment_id: list.id,
  };
  const { body: campaign } = await service.post("/api/campaigns", mail);
  const ask = async (name: string, input: object) => {
    const { data } = await onceOverMcp(service, CATALOG.operations.get(name)!, { ...input });
    return data;
  };
  const when = { campaign_id: campaign.id, segment_id: list.id, scheduled_at: "2099-01-01T10:00:00Z" };
  const { confirm_token } = await ask("schedule_campaign", when);
  await ask("schedule_campaign", { ...when, confirm_token });
  const approved = async () => {
    const [row] = await service.database.db.asProperty(
      property,
      (sql) => sql<{ count: number }[]>`
        select (approved ->> 'count')::int as count from campaigns where property_id = ${property} and id = ${campaign.id}`,
    );
    return row!.count;
  };
  expect(await approved()).toBe(1);
  const many = { segmentId: list.id, playerNumbers: ["m-10", "m-20", "m-30"] };
  const asked = await ask("add_segment_members", many);
  expect(asked.message).toContain('This changes the list "Approved list"');
  expect((await service.get(`/api/segment_members?segment_id.eq=${list.id}`)).body).toHaveLength(1);
  const confirmed = { ...many, confirm_token: asked.confirm_token };
  expect(await ask("add_segment_members", confirmed)).toMatchObject({ added: 2, already_members: 1 });
  // Those whom the person has seen come to the number that was approved.
  expect(await approved()).toBe(3);
});
