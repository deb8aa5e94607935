import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../support/answers.ts";
import { startService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

/** A record of each table that callers create and change. */
const RECORDS: Readonly<Record<string, object>> = {
  players: { player_id: "back-1", email: "b@example.com", phone: "+17025550100", tags: ["a"] },
  custom_fields: { key: "level", type: "number" },
  segments: { name: "All", conditions: [{ field: "status", operator: "eq", value: "active" }] },
  templates: { name: "T", subject: "x", html: "<p>x</p>" },
  campaigns: { name: "C", subject: "x", body_html: "<p>x</p>", audience: "all" },
  dnc_entries: { phone: "+17025550101" },
  frequency_rules: { max_sends: 2, window_unit: "week" },
  quiet_hours_rules: { country: "US", open_local: "08:00", close_local: "21:00" },
  webhook_endpoints: { url: "https://example.com/hook", events: ["campaign.sent"] },
};

describe("a record that is read, changed and sent back whole", () => {
  test.each(Object.entries(RECORDS))("of %s is taken", async (name, fields) => {
    const created = await service.post(`/api/${name}`, fields);
    expect(created.status).toBe(201);
    const { body: read } = await service.get(`/api/${name}/${created.body.id}`);
    const answer = await service.request("PATCH", `/api/${name}/${read.id}`, { body: read });
    expect([answer.status, answer.body.error]).toEqual([200, undefined]);
    const { updated_at: _, version: __, ...same } = read;
    expect(answer.body).toMatchObject(same);
  });

  test("with another value in a field that callers do not write is refused", async () => {
    const { body: player } = await service.post("/api/players", { player_id: "back-2" });
    const address = `/api/players/${player.id}`;
    for (const change of [{ created_at: "2020-01-01T00:00:00Z" }, { legal_hold: true }]) {
      const { body } = await refused(400, "invalid", service.request("PATCH", address, { body: change }));
      expect(body.error).toContain("is written by the service; leave it out");
    }
    const other = "01900000-0000-7000-8000-000000000000";
    await refused(400, "invalid", service.request("PATCH", address, { body: { id: other } }));
    const field = (await service.post("/api/custom_fields", { key: "other", type: "text" })).body;
    const renamed = service.request("PATCH", `/api/custom_fields/${field.id}`, { body: { key: "x" } });
    expect((await refused(400, "invalid", renamed)).body.error).toBe("key: is set at creation and stays");
  });

  test("of a sent campaign may change what can be changed then", async () => {
    const { body } = await service.post("/api/campaigns", RECORDS.campaigns);
    await service.database.db.asProperty(
      service.tenant.id,
      (sql) =>
        sql`update campaigns set status = 'sent' where property_id = ${service.tenant.id} and id = ${body.id}`,
    );
    const { body: read } = await service.get(`/api/campaigns/${body.id}`);
    const patch = (change: object) =>
      service.request("PATCH", `/api/campaigns/${body.id}`, { body: { ...read, ...change } });
    expect((await patch({ name: "Renamed" })).status).toBe(200);
    await refused(409, "conflict", patch({ version: undefined, updated_at: undefined, subject: "Other" }));
  });
});

describe("the property in a body", () => {
  test("is taken where it is one's own, and refused where it is another's", async () => {
    const property_id = service.tenant.id;
    const { status, body } = await service.post("/api/players", { player_id: "own-1", property_id });
    expect([status, body.property_id]).toEqual([201, property_id]);
    const another = (await service.newTenant()).id;
    const foreign = service.post("/api/players", { player_id: "own-2", property_id: another });
    await refused(403, "wrong_property", foreign);
    const several = [{ player_id: "own-3" }, { player_id: "own-4", property_id: another }];
    await refused(403, "wrong_property", service.post("/api/players", several));
    await refused(
      403,
      "wrong_property",
      service.request("PATCH", `/api/players/${body.id}`, { body: { property_id: another } }),
    );
  });

  test.each(["property_id", "propertyId"])("has either name in every call: %s", async (field) => {
    const [own, other] = [service.tenant.id, (await service.newTenant()).id];
    const player = (id: string, body: object = {}) => service.post("/api/players", { [field]: id, ...body });
    const { status, body } = await player(own);
    expect([status, body.property_id]).toEqual([201, own]);
    const look = (id: string) => service.post("/api/functions/get-property-theme", { [field]: id });
    expect((await look(own)).status).toBe(200);
    for (const call of [player, look]) await refused(403, "wrong_property", call(other));
  });

  test("may be left out of a function's, and selects one for a user with several", async () => {
    const check = { channel: "sms", phone: "+17025550100" };
    expect((await service.post("/api/functions/compliance-check", check)).status).toBe(200);
    const admin = await service.signIn({ platformAdmin: true });
    await service.newTenant();
    const headers = { "X-Api-Key": null, Authorization: `Bearer ${admin.token}` };
    const { body } = await refused(400, "invalid", service.get("/api/players", headers));
    expect(body.error).toContain(service.tenant.id);
    const created = await service.post("/api/players", { property_id: service.tenant.id }, headers);
    expect(created.status).toBe(201);
    const nobody = await service.signIn({ role: null });
    const alone = { "X-Api-Key": null, Authorization: `Bearer ${nobody.token}` };
    await refused(403, "forbidden", service.get("/api/players", alone));
  });
});

test("an empty text clears a field that may be null, as forms send it", async () => {
  const { status, body } = await service.post("/api/players", { player_id: "e1", tier: "", email: " " });
  expect([status, body.tier, body.email]).toEqual([201, null, null]);
});

test("a field that stands twice in a body is refused", async () => {
  const body = '{"player_id":"D1","tags":["a"],"custom":{},"player_id":"D2"}';
  const answer = await refused(400, "invalid", service.post("/api/players", body));
  expect(answer.body.error).toBe("player_id: is given twice");
  const escaped = '{"player_id":"D1","player\\u005fid" : "D2"}';
  expect((await service.post("/api/players", escaped)).body.error).toBe("player_id: is given twice");
  const nested = '{"player_id":"D3","custom":{"a":1,"b":{"a":2}},"tags":["{\\"x\\":1,\\"x\\":2}"]}';
  expect((await service.post("/api/players", nested)).body.error).not.toContain("twice");
});
