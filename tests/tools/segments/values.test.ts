import { afterAll, beforeAll, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = await newScenario(service, { timezone: "America/New_York", default_country: "US" });
  await scenario.call("create_player", {
    ...{ player_id: "v1", email: "c1@example.com", phone: "+17025550301", country: "US", state: "Nevada" },
    ...{ tier: "Gold", tags: ["slots"], last_visit_at: "2026-05-31T22:00:00Z" },
  });
});
afterAll(() => service?.stop());

const preview = (...conditions: object[]) =>
  scenario.call("segment_preview", { propertyId: scenario.id, conditions });
const where = (field: string, operator: string, value: unknown) => ({ field, operator, value });

test.each([
  ["email", "eq", " C1@Example.com"],
  ["phone", "eq", "(702) 555-0301"],
  ["phone_e164", "in", ["702-555-0301", "+442071838750"]],
  ["country", "eq", "us"],
  ["state", "in", ["nevada", "Florida"]],
  ["status", "eq", "ACTIVE"],
  ["email_status", "neq", "Risky"],
  // In the property's zone, four hours behind UTC.
  ["last_visit_at", "eq", "2026-05-31 18:00"],
  ["last_visit_at", "gte", "2026-05-31T18:00:00"],
  ["last_visit_at", "before", "2026-05-31t18:00:01-0400"],
  ["last_visit_at", "between", ["20260531T220000Z", "2026-05-31T18:30"]],
])("%s %s %j finds what is stored in another form", async (field, operator, value) => {
  expect((await preview(where(field, operator, value))).count).toBe(1);
});

test.each([
  ["status", "eq", "actve", /conditions\[0\]\.value: must be one of active, inactive/],
  ["email", "in", ["c1"], /conditions\[0\]\.value\[0\]: must be an email address/],
  ["phone", "eq", "12", /must be a possible phone number/],
  ["country", "eq", "ZZ", /ISO 3166/],
])("%s %s %j is refused: no player can have it", async (field, operator, value, said) => {
  await expect(preview(where(field, operator, value))).rejects.toMatchObject({
    code: "invalid",
    message: said,
  });
});

test("values that no player has are named with those that there are", async () => {
  const { count, warnings } = await preview(
    where("tier", "eq", "gold"),
    where("tags", "has_any", ["slotz"]),
    where("state", "eq", "California"),
  );
  expect([count, warnings]).toEqual([
    0,
    [
      'tier: nothing here has "gold"; there are "Gold".',
      'tags: nothing here has "slotz"; there are "slots".',
      'state: nothing here has "CA"; there are "NV".',
    ],
  ]);
  expect((await preview(where("tier", "eq", "Gold"))).warnings).toEqual([]);
  const saved = await scenario.call("create_segment", {
    name: "Lost",
    conditions: [where("tier", "eq", "gold")],
  });
  const again = await scenario.call("segment_preview", { propertyId: scenario.id, segmentId: saved.id });
  expect(again.warnings).toHaveLength(1);
});

test("a value that no player has is named beside others, and where a rule leaves it out", async () => {
  const { count, warnings } = await preview(
    where("tier", "in", ["Gold", "platinum"]),
    where("state", "neq", "Ohio"),
    where("tags", "has_none", ["slotz"]),
  );
  expect([count, warnings]).toEqual([
    1,
    [
      'tier: nothing here has "platinum"; there are "Gold".',
      'state: nothing here has "OH"; there are "NV".',
      'tags: nothing here has "slotz"; there are "slots".',
    ],
  ]);
});

test("among more values than are looked at, the others are known too", async () => {
  const many = await newScenario(service);
  await many.query(
    (sql) => sql`
      insert into players (property_id, player_id, tier, tags)
      select ${many.id}, n, 't' || n, array['t' || n] from generate_series(1, 40) n returning 1`,
  );
  const conditions = [where("tier", "in", ["t9", "t99"]), where("tags", "has_any", ["t9", "t99"])];
  const found = await many.call("segment_preview", { propertyId: many.id, conditions });
  expect(found).toMatchObject({
    count: 1,
    warnings: [
      expect.stringMatching(/^tier: nothing fits "t99"; there are "t1", /),
      expect.stringMatching(/^tags: nothing fits "t99"; /),
    ],
  });
});

test("a time zone that no player has and an event that nobody has reported are named too", async () => {
  const { id } = await scenario.call("create_player", { player_id: "v2" });
  await scenario.call("create_player_event", { player_id: id, name: "visit" });
  const { count, warnings } = await preview(
    where("timezone", "eq", "US/Mountain"),
    where("event.visitt.count", "gte", 1),
  );
  expect([count, warnings]).toEqual([
    0,
    [
      'timezone: nothing here has "America/Denver"; none has a value.',
      'event: nothing here has "visitt"; there are "visit".',
    ],
  ]);
  expect((await preview(where("event.visit.count", "gte", 2))).warnings).toEqual([]);
});

test("an agent that saves, exports or lists by such a rule is told so", async () => {
  const conditions = [where("tier", "eq", "Platin")];
  const list = { name: "List", type: "static" };
  const { id: segmentId } = await service.call("create_segment", list, service.tenant.id);
  for (const [name, fields] of [
    ["create_segment", { name: "Platin" }],
    ["export_players", {}],
    ["add_segment_members", { segmentId }],
  ] as const) {
    const params = { name, arguments: { ...fields, conditions } };
    const { body } = await service.post(
      "/api/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params },
      { accept: "application/json, text/event-stream" },
    );
    const said = body.result.structuredContent.notes;
    expect(said, name).toContain('tier: nothing here has "Platin"; none has a value.');
  }
});
