import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let rival: Tenant;
let ann: { id: string };
let theirs: { id: string };
beforeAll(async () => {
  service = await startService({ role: "web" });
  rival = await service.newTenant();
  ann = (await service.post("/api/players", { player_id: "ANN" })).body;
  await service.post("/api/players", { player_id: "BOB" });
  theirs = (await service.post("/api/players", { player_id: "ANN" }, { "X-Api-Key": rival.key })).body;
});
afterAll(() => service.stop());

const send = (body: unknown, headers?: Record<string, string>) =>
  service.post("/api/player_events", body, headers);
const stored = async (filter: string) => (await service.get(`/api/player_events?${filter}`)).body;

test("an event names its player by our id or by the operator's own", async () => {
  const byId = await send({ player_id: ann.id, name: "visit", properties: { floor: 2 }, source: "door" });
  expect(byId.status).toBe(201);
  expect(byId.body).toMatchObject({
    property_id: service.tenant.id,
    player_id: ann.id,
    name: "visit",
    properties: { floor: 2 },
    source: "door",
    external_id: null,
  });
  const occurred_at = "2026-03-01T12:00:00.123456Z";
  const byName = await send({ player_id: "ANN", name: "Hotel Stay", occurred_at });
  expect(byName.body).toMatchObject({ player_id: ann.id, occurred_at: "2026-03-01T12:00:00.123456+00:00" });
  expect((await service.get(`/api/player_events/${byName.body.id}`)).body).toEqual(byName.body);
  expect(await stored("name.eq=Hotel Stay&select=player_id")).toEqual([{ player_id: ann.id }]);
});

test.each([
  [{ name: "visit" }, "player_id"],
  [{ player_id: "ANN" }, "name"],
  [{ player_id: "ANN", name: "7 up" }, "name"],
  [{ player_id: "ANN", name: "ends." }, "name"],
  [{ player_id: "ANN", name: "x".repeat(61) }, "name"],
  [{ player_id: "ANN", name: "visit", occurred_at: "2999-01-01T00:00:00Z" }, "occurred_at"],
  [{ player_id: "ANN", name: "visit", occurred_at: "1899-01-01T00:00:00Z" }, "occurred_at"],
  [{ player_id: "ANN", name: "visit", occurred_at: "yesterday" }, "occurred_at"],
  [{ player_id: "ANN", name: "visit", properties: { note: "x".repeat(9000) } }, "properties"],
  [{ player_id: "ANN", name: "visit", properties: [1] }, "properties"],
  [{ player_id: "ANN", name: "visit", amount: 1 }, "amount"],
])("an event that is wrong is refused, and its field is named: %j", async (event, field) => {
  const { status, body } = await send(event);
  expect([status, body.details[0].field]).toEqual([400, field]);
});

test("a player who is not there, is deleted or is another property's has no events", async () => {
  const gone = (await service.post("/api/players", { player_id: "GONE" })).body;
  await service.request("DELETE", `/api/players/${gone.id}`);
  for (const player_id of ["NOBODY", randomUUID(), gone.id, "GONE", theirs.id]) {
    const { status, body } = await send({ player_id, name: "visit" });
    expect([status, body.error]).toEqual([
      404,
      `player_id: No player with the id or player_id ${player_id} in this property.`,
    ]);
  }
});

test("an event sent again is kept once, and answered as it was first", async () => {
  const event = { player_id: "ANN", name: "deposit", external_id: "d-1", properties: { amount: 250 } };
  const first = await send(event);
  const again = await send(event);
  expect(again.status).toBe(201);
  expect(again.body).toEqual(first.body);
  expect((await send({ ...event, properties: { amount: 999 } })).status).toBe(409);
  const many = await send([event, { ...event, external_id: "d-2" }, { ...event, external_id: "d-2" }]);
  expect(many.body.map(({ external_id }: { external_id: string }) => external_id)).toEqual([
    "d-1",
    "d-2",
    "d-2",
  ]);
  expect(many.body[0]).toEqual(first.body);
  expect(many.body[1].id).toBe(many.body[2].id);
  expect(await stored("name.eq=deposit")).toHaveLength(2);
  const other = await send([event, { ...event, player_id: "BOB" }]);
  expect([other.status, other.body.error]).toEqual([
    409,
    "[1].external_id: d-1 was recorded with other contents, which stay. An event cannot be changed.",
  ]);
  const alone = await send({ ...event, player_id: "BOB" });
  expect([alone.status, alone.body.error]).toEqual([
    409,
    "external_id: d-1 was recorded with other contents, which stay. An event cannot be changed.",
  ]);
  const rivals = await send(event, { "X-Api-Key": rival.key });
  expect(rivals.body).toMatchObject({ player_id: theirs.id });
  expect(rivals.body.id).not.toBe(first.body.id);
});

test("the same thousand events sent four times at once are kept once each", async () => {
  const events = Array.from({ length: 1000 }, (_, index) => ({
    player_id: index % 2 ? "ANN" : "BOB",
    name: "spin",
    external_id: `s-${index}`,
  }));
  const answers = await Promise.all([events, events.toReversed(), events, events].map((all) => send(all)));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(answers.every(({ body }) => body.length === 1000)).toBe(true);
  const { headers } = await service.get("/api/player_events?name.eq=spin&limit=1", { Prefer: "count=exact" });
  expect(headers.get("content-range")).toBe("0-0/1000");
  const audits = await service.get("/api/audit_logs?action.eq=create_player_event&diff->>records.eq=1000");
  expect(audits.body).toHaveLength(4);
});

test("of an array with one wrong event nothing is kept, and over a thousand are refused", async () => {
  const good = { player_id: "ANN", name: "lost" };
  const { status, body } = await send([good, { ...good, player_id: "NOBODY" }, good]);
  expect([status, body.details]).toEqual([
    404,
    [
      {
        field: "[1].player_id",
        message: "No player with the id or player_id NOBODY in this property.",
      },
    ],
  ]);
  expect((await send([good, { ...good, name: "" }])).status).toBe(400);
  expect((await send(Array.from({ length: 1001 }, () => good))).status).toBe(400);
  expect(await stored("name.eq=lost")).toEqual([]);
});

test("an event can be neither changed nor removed, and no other property sees it", async () => {
  const { body: event } = await send({ player_id: "ANN", name: "visit" });
  const path = `/api/player_events/${event.id}`;
  expect((await service.request("PATCH", path, { body: { name: "other" } })).status).toBe(405);
  expect((await service.request("DELETE", path)).status).toBe(405);
  expect((await service.get(path, { "X-Api-Key": rival.key })).status).toBe(404);
});

test("a share is told to who asked, its clicks are counted, and it belongs to a player who is there", async () => {
  await service.post("/api/webhook_endpoints", { url: "http://127.0.0.1:9/hook", events: ["player.shared"] });
  const share = {
    player_id: ann.id,
    network: "Facebook",
    content_type: "game",
    content_id: "wheel-7",
    share_url: "https://casino.example/s/1",
  };
  const made = await service.post("/api/social_shares", share);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ ...share, network: "facebook", clicks: 0 });
  const changed = await service.request("PATCH", `/api/social_shares/${made.body.id}`, {
    body: { clicks: 3 },
  });
  expect(changed.body.clicks).toBe(3);
  const events = await service.database.db.asProperty(
    service.tenant.id,
    (sql) => sql<{ data: { object: object } }[]>`select data from outbox where type = 'player.shared'`,
  );
  expect(events.map(({ data }) => data.object)).toMatchObject([{ id: made.body.id, player_id: ann.id }]);
  expect((await service.post("/api/social_shares", { ...share, player_id: theirs.id })).status).toBe(404);
  for (const wrong of [{ content_type: "photo" }, { share_url: "javascript:alert(1)" }, { clicks: -1 }]) {
    expect((await service.post("/api/social_shares", { ...share, ...wrong })).status).toBe(400);
  }
  expect((await service.request("DELETE", `/api/social_shares/${made.body.id}`)).status).toBe(200);
});
