import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
const ids: Record<string, string> = {};
beforeAll(async () => {
  service = await startService({ role: "web" });
  const made = async (path: string, body: object) => (await service.post(path, body)).body.id as string;
  ids.player = await made("/api/players", { player_id: "H20002", email: "h2@example.com" });
  ids.segment = await made("/api/segments", { name: "Locals", type: "static" });
  const campaign = { subject: "x", body_html: "<p>x</p>", audience: "all" };
  ids.campaign = await made("/api/campaigns", { name: "Friday", ...campaign });
  for (const _ of [1, 2]) await made("/api/campaigns", { name: "Twice", ...campaign });
});
afterAll(() => service?.stop());

async function tool(name: string, input: object, headers: Record<string, string> = {}) {
  const { body } = await service.post(
    "/api/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } },
    { accept: "application/json, text/event-stream", ...headers },
  );
  const { isError = false, structuredContent: data, content } = body.result;
  return { isError, data, text: content[0].text as string };
}

test("an agent names a player by the operator's number, and others by a name that one record has", async () => {
  for (const input of [{ id: "H20002" }, { playerId: "H20002" }, { player_id: ids.player }]) {
    const { data, text } = await tool("get_player", input);
    expect(data.id, JSON.stringify(input)).toBe(ids.player);
    if (!("player_id" in input)) expect(text).toContain(`the player "H20002" is ${ids.player}`);
  }
  const stats = await tool("campaign_stats", { campaign: undefined, campaignId: "Friday" });
  expect(stats.data.notes).toEqual([`campaignId: the campaign "Friday" is ${ids.campaign}.`]);
  expect((await tool("campaign_stats", { id: "Friday" })).isError).toBe(false);
  const checked = await tool("compliance_check", { channel: "email", playerIds: ["H20002"] });
  expect(checked.data.results[0].player_id).toBe(ids.player);
  const member = await tool("create_segment_member", { segment_id: "Locals", player_id: "H20002" });
  expect(member.data).toMatchObject({ segment_id: ids.segment, player_id: ids.player });
});

test("a deleted player is restored by the operator's number, and nobody else is meant", async () => {
  const { body } = await service.post("/api/players", { player_id: "H30003", email: "h3@example.com" });
  const present = await tool("restore_player", { playerId: "H30003" });
  expect(present.data.message).toContain('no deleted player with the player_id "H30003"');
  await service.request("DELETE", `/api/players/${body.id}`);
  const asked = await tool("restore_player", { playerId: "H30003" });
  expect(asked.text).toContain("This restores the player");
  const restored = await tool("restore_player", {
    playerId: "H30003",
    confirm_token: asked.data.confirm_token,
  });
  expect(restored.data.id).toBe(body.id);
});

test("a name is taken where it stands in a part of the input, as in a recipe's settings and a journey's nodes", async () => {
  await service.post("/api/segments", {
    name: "Lapsed",
    conditions: [{ field: "tier", operator: "eq", value: "Gold" }],
  });
  const settings = { recipe: "win_back", segment_id: "Lapsed" };
  const { data, text } = await tool("create_journey_from_recipe", { settings });
  expect(data.notes).toEqual([expect.stringMatching(/^settings.segment_id: the segment "Lapsed" is /)]);
  expect(text).toContain(`the journey ${data.journey.id} is draft`);
  const nodes = [{ id: "in", type: "trigger", config: { on: "segment_enter", segment_id: "Lapsed" } }];
  const made = await tool("create_journey", { name: "Own", draft_definition: { nodes, edges: [] } });
  expect(made.data.notes).toEqual([
    expect.stringMatching(/^draft_definition.nodes.0.config.segment_id: the segment "Lapsed" is /),
  ]);
  const unknown = await tool("create_journey_from_recipe", { settings: { ...settings, segment_id: "No" } });
  expect(unknown.data).toMatchObject({
    code: "not_found",
    message: expect.stringContaining('no segment with the name "No"'),
  });
});

test("a rule's field about a record names it, in a segment and in a journey's node", async () => {
  const rule = { field: "campaign.Friday.clicked", operator: "is", value: true };
  const said = `the campaign "Friday" is ${ids.campaign}.`;
  const preview = await tool("segment_preview", { conditions: [rule] });
  expect([preview.isError, preview.text]).toEqual([
    false,
    expect.stringContaining(`conditions.0.field: ${said}`),
  ]);
  const made = await tool("create_segment", {
    name: "Not there",
    conditions: [{ field: "segment.Locals", operator: "not_in_segment" }],
  });
  expect(made.data.conditions[0].field).toBe(`segment.${ids.segment}`);
  const nodes = [
    { id: "split", type: "branch", config: { branches: [{ label: "yes", conditions: [rule] }] } },
  ];
  const journey = await tool("create_journey", { name: "Rules", draft_definition: { nodes, edges: [] } });
  const [node] = journey.data.draft_definition.nodes;
  expect(node.config.branches[0].conditions[0].field).toBe(`campaign.${ids.campaign}.clicked`);
  const twice = await tool("segment_preview", { conditions: [{ ...rule, field: "campaign.Twice.sent" }] });
  expect(twice.data).toMatchObject({ code: "conflict", details: [{ field: "conditions.0.field" }] });
});

test("a name that no record has, or several, is refused with what to do", async () => {
  expect((await tool("get_player", { id: "H9" })).data).toMatchObject({
    code: "not_found",
    message: 'id: no player with the player_id "H9" in this property; give its id, from list_players',
  });
  const twice = await tool("campaign_stats", { campaignId: "Twice" });
  expect(twice.data.code).toBe("conflict");
  expect(twice.data.message).toMatch(
    /there is more than one campaign with the name "Twice"; give the id, such as/,
  );
});

test("a name of another property says no more than that it is not in this one", async () => {
  const rival = await service.newTenant();
  const theirs = await service.post("/api/players", { player_id: "R1" }, { "X-Api-Key": rival.key });
  expect(theirs.status).toBe(201);
  expect((await tool("get_player", { id: "R1" })).data.code).toBe("not_found");
});

test("a list is filtered by the operator's number of a player, and by a name, where its column has their ids", async () => {
  const consent = { playerId: ids.player, channel: "email", consentGiven: true, consentSource: "desk" };
  await service.post("/api/functions/consent-record", { ...consent, propertyId: service.tenant.id });
  const rows = async (name: string, filters: object) => (await tool(name, { filters })).data.rows;
  for (const filter of [
    { "player_id.eq": "H20002" },
    { "player_id.in": ["H20002"] },
    { player_id: `eq.${ids.player}` },
    { "player_id.in": `(${ids.player},${ids.segment})` },
  ]) {
    expect(await rows("list_consent_records", filter), JSON.stringify(filter)).toHaveLength(1);
  }
  expect(await rows("list_consent_records", { "player_id.not.eq": "H20002" })).toHaveLength(0);
  const { text, data } = await tool("list_consent_records", { filters: { "player_id.eq": "H20002" } });
  const said = `filters.player_id.eq: the player "H20002" is ${ids.player}.`;
  expect(text).toContain(said);
  expect(data.warnings).toEqual([said]);
  await service.post("/api/segments", { name: "Regulars", type: "static" });
  await tool("create_segment_member", { segment_id: "Regulars", player_id: "H20002" });
  expect(await rows("list_segment_members", { "segment_id.eq": "Regulars" })).toHaveLength(1);
  expect(await rows("list_campaigns", { "id.eq": "Friday" })).toHaveLength(1);
  // There the column is the number itself.
  expect(await rows("list_players", { "player_id.eq": "H20002" })).toHaveLength(1);
  const unknown = await tool("list_consent_records", { filters: { "player_id.eq": "H9" } });
  expect(unknown.data.message).toBe(
    'filters.player_id.eq: no player with the player_id "H9" in this property; give its id, from list_players',
  );
});

test("a refused credential is reported in words, and its code once", async () => {
  const { text, data } = await tool("create_api_key", { name: "mine", property_id: service.tenant.id });
  expect(data.code).toBe("invalid_credential");
  expect(text).toMatch(/^invalid_credential: credential is an API key, and this is for a signed-in user/);
});

test("a key of the scope write alone finds nobody by a number: the answer would be the record", async () => {
  const { api_key } = await service.call("create_api_key", {
    property_id: service.tenant.id,
    name: "write",
    scopes: ["write"],
  });
  const change = (id: string) => tool("update_player", { id }, { "X-Api-Key": api_key });
  expect((await change("H20002")).data).toMatchObject({ code: "insufficient_scope" });
  expect((await change("H99999")).data).toMatchObject({ code: "insufficient_scope" });
  expect((await change(ids.player!)).data).toMatchObject({ id: ids.player });
});

test("over REST the id stands, by any of its names", async () => {
  const propertyId = service.tenant.id;
  for (const name of ["id", "campaignId", "campaign_id"]) {
    const { status } = await service.post("/api/functions/campaign-stats", {
      propertyId,
      [name]: ids.campaign,
    });
    expect(status, name).toBe(200);
  }
  expect((await service.post("/api/functions/campaign-stats", { campaignId: "Friday" })).status).toBe(400);
});

test("a name is taken also where the field's name does not say whose it is", async () => {
  await service.post("/api/players", { player_id: "H20003", email: "h3@example.com" });
  const asked = await tool("merge_players", { playerId: "H20002", duplicateId: "H20003" });
  expect(asked.data.message).toContain('This merges the player "H20003"');
  await service.post("/api/code_pools", { name: "Steaks" });
  const added = await tool("add_prize_codes", { poolId: "Steaks", codes: ["STEAK-1"] });
  expect(added.isError, added.text).toBe(false);
});

test("of many names the first ten are shown, and the others counted", async () => {
  const numbers = Array.from({ length: 14 }, (_, index) => `H3${index}`);
  for (const player_id of numbers) await service.post("/api/players", { player_id });
  const { text, data } = await tool("compliance_check", { channel: "email", playerIds: numbers });
  expect(data.counts.checked).toBe(14);
  expect(text.match(/the player "H3/g)).toHaveLength(10);
  expect(text).toContain("4 more were found by their names.");
});

test.each([
  { field: "campaign.Nothing.clicked", operator: "is" },
  { answers: [{ field: "segment.Nothing", operator: "in_segment", value: "x" }] },
])("free data are no rules: %j", async (properties) => {
  const told = await tool("create_player_event", { player_id: ids.player, name: "form", properties });
  expect(told.data, JSON.stringify(told.data)).toMatchObject({ name: "form", properties });
});
