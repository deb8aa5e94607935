import { afterAll, beforeAll, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
let headers: Record<string, string>;
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = await newScenario(service);
  await scenario.call("create_webhook_endpoint", { url: "https://receiver.example/hook", events: ["*"] });
  headers = { "X-Api-Key": await keyOf({}) };
});
afterAll(() => service?.stop());

async function keyOf(more: object): Promise<string> {
  return (await service.call("create_api_key", { property_id: scenario.id, name: "key", ...more })).api_key;
}

const patch = (path: string, body: object, more: object = {}) =>
  service.request("PATCH", `/api/${path}`, { body, headers: { ...headers, ...more } });

/** The events so far. Those of one call have no order. */
async function told(): Promise<string[]> {
  const events = await scenario.query(
    (sql) => sql<{ type: string }[]>`select type from outbox where property_id = ${scenario.id}`,
  );
  return events.map(({ type }) => type).toSorted();
}

test("a change that changes nothing leaves the record as it is, and no event tells of it", async () => {
  const given = { first_name: "Ann", tier: "Gold", custom: {}, last_visit_at: "2026-01-02T03:04:05Z" };
  const { body: player } = await service.post("/api/players", { player_id: "S-1", ...given }, headers);
  const { id: campaign } = await scenario.call("create_campaign", { name: "Same", subject: "Hi" });
  const before = await told();
  const { created_at: _, ...readBack } = player;
  for (const same of [{}, { tier: "Gold" }, { custom: {} }, readBack]) {
    expect((await patch(`players/${player.id}`, same)).body, JSON.stringify(same)).toEqual(player);
  }
  const filtered = await patch("players?player_id=eq.S-1", { tier: "Gold" });
  expect(filtered.body).toEqual([player]);
  const { body } = await patch(`campaigns/${campaign}`, { subject: "Hi" });
  expect(body).toMatchObject({ version: 1, updated_at: body.created_at });
  // The same moment in other letters.
  await patch(`players/${player.id}`, { last_visit_at: "2026-01-02T05:04:05+02:00" });
  await service.call("set_player_status", { propertyId: scenario.id, playerId: player.id, status: "active" });
  expect(await told()).toEqual(before);
  await patch(`players/${player.id}`, { tier: "Silver" });
  expect(await told()).toEqual([...before, "player.updated", "player.tier_changed"].toSorted());
});

test("a counted segment stays as it is too, and another name needs no other count", async () => {
  const rules = { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] };
  const { id } = await scenario.call("create_segment", { name: "Counted", ...rules });
  await scenario.query(
    (sql) => sql`
    update segments set state = 'ready' where property_id = ${scenario.id} and id = ${id}`,
  );
  const segment = await scenario.call("get_segment", { id });
  for (const same of [{}, { name: "Counted" }, rules, segment]) {
    expect((await patch(`segments/${id}`, same)).body, JSON.stringify(same)).toEqual(segment);
  }
  expect((await patch(`segments/${id}`, { name: "Renamed" })).body).toMatchObject({
    version: 2,
    state: "ready",
  });
  expect((await patch(`segments/${id}`, { logic: "or" })).body).toMatchObject({
    version: 3,
    state: "computing",
  });
});

test("a change that changes nothing is still refused for a record that is another one by now", async () => {
  const { id } = await scenario.call("create_campaign", { name: "Stale", subject: "Hi" });
  await patch(`campaigns/${id}`, { subject: "Ho" });
  expect((await patch(`campaigns/${id}`, { subject: "Ho", version: 1 })).status).toBe(409);
  expect((await patch(`campaigns/${id}`, { subject: "Ho" }, { "If-Match": '"1"' })).status).toBe(412);
});

test("a key of the scope write alone reads no records by a filter, by any change", async () => {
  const player = await scenario.player({ email: "w1@example.com" });
  const write = { "X-Api-Key": await keyOf({ scopes: ["write"] }) };
  const all = "players?id.not.is=null";
  for (const [method, path, more] of [
    ["PATCH", all, {}],
    ["DELETE", all, {}],
    ["DELETE", `players/${player}`, { Prefer: "return=representation" }],
  ] as const) {
    const { status, body } = await service.request(method, `/api/${path}`, {
      ...(method === "PATCH" && { body: {} }),
      headers: { ...write, ...more },
    });
    expect([status, body.error], `${method} ${path}`).toEqual([403, "insufficient_scope"]);
    expect(body.details[0].message).toContain("lacks the scope read");
  }
  for (const body of [{ player_id: "S-1" }, [{ player_id: "S-1" }]]) {
    const merged = { ...write, Prefer: "resolution=merge-duplicates" };
    const { status } = await service.post("/api/players", body, merged);
    expect(status, JSON.stringify(body)).toBe(403);
    const ignored = { ...write, Prefer: "resolution=ignore-duplicates" };
    expect((await service.post("/api/players", body, ignored)).body).toEqual([]);
  }
  // The specification answers the record of a change by its id.
  expect((await patch(`players/${player}`, { tier: "Gold" }, write)).body).toMatchObject({ tier: "Gold" });
  expect((await service.request("DELETE", `/api/players/${player}`, { headers: write })).status).toBe(200);
});
