import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { expectedRows } from "../../support/cluster/citus.ts";
import { webhookReceiver } from "../../support/servers/receivers.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let tenant: Tenant;
let receiver: Awaited<ReturnType<typeof webhookReceiver>>;
beforeAll(async () => {
  service = await startService();
  receiver = await webhookReceiver();
});
beforeEach(async () => {
  tenant = await service.newTenant();
  receiver.received.length = 0;
});
afterAll(async () => {
  await service.stop();
  await receiver.stop();
});

/** Requests with the key of the test's own property. */
const api = {
  get: (path: string) => service.get(path, { "X-Api-Key": tenant.key }),
  post: (path: string, body: unknown) => service.post(path, body, { "X-Api-Key": tenant.key }),
  request: (method: string, path: string, options: { body?: unknown } = {}) =>
    service.request(method, path, { ...options, headers: { "X-Api-Key": tenant.key } }),
};

const player = async (player_id: string, tier: string) =>
  (await api.post("/api/players", { player_id, tier })).body as { id: string };
const gold = (name: string) => ({
  name,
  type: "dynamic",
  conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
});
const segment = async (input: object) => (await api.post("/api/segments", input)).body;
const read = async (id: string) => (await api.get(`/api/segments/${id}`)).body;

/** The next counting, now. */
async function refreshed(): Promise<void> {
  await service.idle();
  await service.database.db.asSystem(
    (sql) => sql`update queue set run_at = now() where name = 'refresh_segment' and state = 'ready'`,
  );
  service.internals.wake();
  await service.idle();
}

test("a segment is counted when it is written, when its list changes, and from time to time", async () => {
  for (const n of [1, 2, 3]) await player(`count-${n}`, "Gold");
  const dynamic = await segment(gold("Counted"));
  expect(dynamic).toMatchObject({ state: "computing", member_count: null, last_computed_at: null });
  await service.idle();
  const counted = await read(dynamic.id);
  expect(counted).toMatchObject({ state: "ready", member_count: 3, last_computed_at: expect.any(String) });
  await player("count-4", "Gold");
  await refreshed();
  expect(await read(dynamic.id)).toMatchObject({ state: "ready", member_count: 4, version: dynamic.version });
  const fixed = await segment({ name: "Fixed", type: "static" });
  const member = { segment_id: fixed.id, player_id: (await player("count-5", "Silver")).id };
  expect((await api.post("/api/segment_members", member)).status).toBe(201);
  await refreshed();
  expect(await read(fixed.id)).toMatchObject({ state: "ready", member_count: 1 });
});

test("a list is counted at once when many players come onto it, or leave it", async () => {
  const players = [await player("many-1", "Gold"), await player("many-2", "Gold")];
  const fixed = await segment({ name: "Many", type: "static" });
  const about = { segmentId: fixed.id, propertyId: tenant.id };
  const change = async (name: string, playerIds: string[]) => {
    await service.idle();
    expect((await api.post(`/api/functions/${name}`, { ...about, playerIds })).status).toBe(200);
    await service.idle();
    return (await read(fixed.id)).member_count;
  };
  const ids = players.map(({ id }) => id);
  expect(await change("add-segment-members", ids)).toBe(2);
  expect(await change("remove-segment-members", ids.slice(1))).toBe(1);
});

test("a segment whose rules refer to what is gone has failed, and keeps its last count", async () => {
  const inner = await segment(gold("Inner"));
  const outer = await segment({
    name: "Outer",
    conditions: [{ field: `segment.${inner.id}`, operator: "in_segment" }],
  });
  await service.idle();
  const before = await read(outer.id);
  expect(before.state).toBe("ready");
  // One that is used cannot be deleted; but another version of the service could have.
  await service.database.db.asProperty(
    tenant.id,
    (sql) =>
      sql`update segments set deleted_at = now() where property_id = ${tenant.id} and id = ${inner.id}`,
  );
  await refreshed();
  expect(await read(outer.id)).toMatchObject({ state: "failed", member_count: before.member_count });
});

test("players who enter or exit are told of once to those who ask, and players who were there before are not", async () => {
  const stays = await player("told-stays", "Gold");
  const leaves = await player("told-leaves", "Gold");
  await api.post("/api/webhook_endpoints", {
    url: receiver.url,
    events: ["player.segment_entered", "player.segment_exited"],
  });
  const { id } = await segment({
    ...gold("Told"),
    groups: [{ conditions: [{ field: "player_id", operator: "starts_with", value: "told-" }] }],
  });
  await refreshed();
  expect(receiver.received).toEqual([]);
  const enters = await player("told-enters", "Gold");
  await api.request("PATCH", `/api/players/${leaves.id}`, { body: { tier: "Silver" } });
  await refreshed();
  await refreshed();
  const told = receiver.received
    .map(({ raw }) => JSON.parse(raw))
    .filter(({ data }) => data.object.segment_id === id)
    .map(({ type, data }) => [type, data.object.player_id]);
  expect(told.sort()).toEqual([
    ["player.segment_entered", enters.id],
    ["player.segment_exited", leaves.id],
  ]);
  const { body: kept } = await api.get(`/api/segment_members?segment_id=eq.${id}&order=created_at.asc`);
  expect(kept.map((one: { player_id: string }) => one.player_id).sort()).toEqual(
    [stays.id, enters.id].sort(),
  );
  const removal = await api.request("DELETE", `/api/segment_members/${kept[0].id}`);
  expect(removal.status).toBe(409);
  const another = await segment({ ...gold("Turns into a list") });
  await refreshed();
  await api.request("PATCH", `/api/segments/${another.id}`, { body: { type: "static", conditions: [] } });
  expect((await api.get(`/api/segment_members?segment_id=eq.${another.id}`)).body).toEqual([]);
  const [endpoint] = (await api.get("/api/webhook_endpoints")).body;
  await api.request("DELETE", `/api/webhook_endpoints/${endpoint.id}`);
  await refreshed();
  const { db } = service.database;
  const [stored] = await db.asProperty(
    tenant.id,
    (sql) => sql<[{ rows: number }]>`
      select count(*)::int as rows from segment_members where property_id = ${tenant.id} and segment_id = ${id}`,
  );
  expect(stored.rows).toBe(0);
});

test("a player who is put on a list has entered it, by hand, by an import or among many", async () => {
  await api.post("/api/webhook_endpoints", { url: receiver.url, events: ["player.segment_entered"] });
  receiver.received.length = 0;
  const { id } = await segment({ name: "List", type: "static" });
  const byHand = await player("list-1", "Gold");
  await api.post("/api/segment_members", { segment_id: id, player_id: byHand.id });
  await api.post("/api/import_jobs", { csv: "player_id\nlist-1\nlist-2\nlist-3\n", segment_id: id });
  await service.idle();
  const told = () => {
    const objects = receiver.received.map(({ raw }) => JSON.parse(raw).data.object);
    return objects.filter(({ segment_id }) => segment_id === id);
  };
  expect(told()).toHaveLength(3);
  await refreshed();
  expect((await read(id)).member_count).toBe(3);
  const among = await player("list-4", "Gold");
  await api.post("/api/functions/add-segment-members", {
    ...{ propertyId: tenant.id, segmentId: id, playerNumbers: ["list-1", "list-4"] },
  });
  // Its count waits for no turn.
  await service.idle();
  expect((await read(id)).member_count).toBe(4);
  expect(told()).toHaveLength(4);
  expect(told().at(-1)).toMatchObject({ player_id: among.id, source: "manual" });
});

test("a list that was filled all at once is known to the planner before it is counted", async () => {
  const { id } = await segment({ name: "Filled", type: "static" });
  await service.idle();
  const MANY = 6_000;
  await service.database.db.asProperty(
    tenant.id,
    (sql) => sql`
      with filled as (
        insert into players (property_id, id, player_id)
        select ${tenant.id}, uuid_v7(), 'filled-' || n from generate_series(1, ${MANY}) n returning id
      )
      insert into segment_members (property_id, segment_id, player_id)
      select ${tenant.id}, ${id}, id from filled returning 1`,
  );
  await refreshed();
  expect((await read(id)).member_count).toBe(MANY);
  const known = await expectedRows(service.database.url, "segment_members");
  expect(known).toBeGreaterThanOrEqual(MANY);
});

test("a rule that does not compile is named where the caller has written it, created or changed", async () => {
  const wrong = { conditions: [{ field: "shoe_size", operator: "eq", value: 1 }] };
  const name = "conditions[0].field";
  const { id } = await segment({ name: "Right", conditions: [{ field: "adt", operator: "gt", value: 1 }] });
  const inner = await segment({ name: "Inner", conditions: [{ field: "adt", operator: "gt", value: 1 }] });
  const nested = { groups: [{ logic: "or", ...wrong }] };
  for (const [answer, field] of [
    [await api.post("/api/segments", { name: "Wrong", ...wrong }), name],
    [await api.request("PATCH", `/api/segments/${id}`, { body: wrong }), name],
    [await api.request("PATCH", `/api/segments/${id}`, { body: nested }), `groups[0].${name}`],
    [await api.post("/api/segments", [{ name: "W0", ...wrong }]), `[0].${name}`],
  ] as const) {
    expect(answer.status).toBe(400);
    expect(answer.body.details[0].field).toBe(field);
    expect(answer.body.error).not.toMatch(/segment [0-9a-f]{8}/);
  }
  // A fault in another segment is told of that one.
  await service.database.db.asProperty(
    tenant.id,
    (sql) =>
      sql`update segments set conditions = ${JSON.stringify(wrong.conditions)}::text::jsonb where id = ${inner.id}`,
  );
  const outer = { name: "Around", conditions: [{ field: `segment.${inner.id}`, operator: "in_segment" }] };
  const { body } = await api.post("/api/segments", outer);
  expect(body.details?.[0]?.field, body.error).toBe(`segment ${inner.id} ${name}`);
});
