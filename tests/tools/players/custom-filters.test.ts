import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

let service: TestService;
let rival: Tenant;
beforeAll(async () => {
  service = await startService();
  rival = await service.newTenant();
  await service.post("/api/custom_fields", [
    { key: "host", type: "text" },
    { key: "old", type: "number" },
  ]);
  await service.post("/api/custom_fields", { key: "theirs", type: "text" }, { "X-Api-Key": rival.key });
  await service.post("/api/players", { player_id: "ann", custom: { host: "Ray", old: 7 } });
  await service.post("/api/players", { player_id: "bob" });
  const { body } = await service.get("/api/custom_fields?key.eq=old");
  const archived_at = new Date().toISOString();
  await service.request("PATCH", `/api/custom_fields/${body[0].id}`, { body: { archived_at } });
});
afterAll(() => service?.stop());

const UNKNOWN = "is not a custom field of this property (there are host); create_custom_field creates one";

// The parameter, its value, and the key that nobody has defined.
const stray: [string, string, string][] = [
  ["custom.nope.eq", "1", "nope"],
  ["custom.nope.not.is", "null", "nope"],
  ["custom.theirs.neq", "1", "theirs"],
  ["custom.nope.host.eq", "1", "nope"],
  ["custom.Host.eq", "Ray", "Host"],
  ["custom->>nope", "eq.1", "nope"],
  ["custom->nope->>host", "is.null", "nope"],
  ["or", "(player_id.eq.ann,and(custom.host.eq.Ray,custom.nope.is.null))", "nope"],
  ["not.and", "(custom->>nope.eq.1)", "nope"],
  ...["__proto__", "constructor", "toString"].flatMap((key): [string, string, string][] => [
    [`custom.${key}.eq`, "1", key],
    [`custom->>${key}`, "is.null", key],
  ]),
];

test.each(stray)(
  "a list refuses %s=%s, naming it and the fields that there are",
  async (name, value, key) => {
    const { status, body } = await service.get(`/api/players?${encodeURIComponent(name)}=${value}`);
    expect([status, body.code]).toEqual([400, "invalid"]);
    expect(body.details).toEqual([{ field: name, message: `custom.${key} ${UNKNOWN}` }]);
  },
);

test.each(stray)("no change of what filters match is done by %s=%s", async (name, value) => {
  const path = `/api/players?${encodeURIComponent(name)}=${value}`;
  const changed = await service.request("PATCH", path, { body: { tier: "Gold" } });
  const removed = await service.request("DELETE", path);
  for (const { status, body } of [changed, removed]) {
    expect([status, body.details?.[0].field]).toEqual([400, name]);
  }
  expect((await service.get("/api/players?tier.is=null")).body).toHaveLength(2);
});

test("agents are told the same of their filters", async () => {
  for (const key of ["nope", "__proto__"]) {
    const { body } = await service.post(
      "/api/mcp",
      {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "list_players", arguments: { filters: { [`custom.${key}.eq`]: "1" } } },
      },
      { Accept: "application/json, text/event-stream" },
    );
    expect(body.result).toMatchObject({ isError: true });
    expect(body.result.content[0].text).toContain(`custom.${key} ${UNKNOWN}`);
  }
});

test("a field that is archived is filtered by, and so is the whole of custom", async () => {
  const found = async (query: string) =>
    (await service.get(`/api/players?${query}`)).body.map(({ player_id: id }: { player_id: string }) => id);
  expect(await found("custom.old.eq=7")).toEqual(["ann"]);
  expect(await found("custom->old=gt.6")).toEqual(["ann"]);
  expect(await found("or=(custom.host.eq.Ray,custom.old.eq.1)")).toEqual(["ann"]);
  expect(await found("custom.host.is=null")).toEqual(["bob"]);
  expect(await found(`custom.cs=${encodeURIComponent('{"host":"Ray"}')}`)).toEqual(["ann"]);
});

test("an order by a custom field is refused, defined or not", async () => {
  for (const key of ["host", "nope", "__proto__"]) {
    const { status, body } = await service.get(`/api/players?order=custom.${key}.desc`);
    expect([status, body.details?.[0].field]).toEqual([400, "order"]);
  }
});

test("a property without custom fields is told where they are made", async () => {
  const { key } = await service.newTenant();
  const { status, body } = await service.get("/api/players?custom.host.eq=Ray", { "X-Api-Key": key });
  expect([status, body.details?.[0].message]).toEqual([
    400,
    "custom.host is not a custom field of this property (there are none yet); create_custom_field creates one",
  ]);
});

test("values of own fields are compared as they are stored, and those that no record can have are refused", async () => {
  const { id: propertyId, key } = await service.newTenant();
  const own = { "X-Api-Key": key };
  const fields = [
    { key: "old", type: "number" },
    { key: "likes", type: "enum", enum_values: ["Slots", "Poker"] },
    { key: "vip", type: "boolean" },
    { key: "joined", type: "date" },
  ];
  await service.post("/api/custom_fields", fields, own);
  await service.post("/api/players", { player_id: "ann", custom: { old: 7 } }, own);
  const custom = { likes: "Slots", vip: true, joined: "2026-02-01" };
  await service.post("/api/players", { player_id: "cyd", language: "de_at", custom }, own);
  const list = (query: string) => service.get(`/api/players?${query}`, own);
  for (const query of [
    ...["custom.likes.eq=slots", "custom.likes.in=(poker,SLOTS)", "custom->>likes=eq.slots"],
    ...["custom.vip.eq=TRUE", "custom.joined.eq=2026-02-01", "language.eq=de-at"],
  ]) {
    expect((await list(query)).body, query).toMatchObject([{ player_id: "cyd" }]);
  }
  expect((await list("custom.old.eq=7.0")).body).toMatchObject([{ player_id: "ann" }]);
  for (const [query, wants] of [
    ["custom.likes.eq=slotz", "one of Slots, Poker"],
    ["custom.likes.neq=slotz", "one of Slots, Poker"],
    ["or=(custom.likes.in.(slotz),player_id.eq.ann)", "one of Slots, Poker"],
    ["custom.old.gte=1,250", "a number"],
    ["custom.vip.eq=yes", "true or false"],
    ["custom.joined.eq=01/02/2026", "a date such as"],
  ] as const) {
    const { status, body } = await list(query);
    expect([status, body.error], query).toEqual([400, expect.stringContaining(wants)]);
  }
  const preview = (value: string) => {
    const conditions = [{ field: "custom.likes", operator: "eq", value }];
    return service.post("/api/functions/segment-preview", { propertyId, conditions }, own);
  };
  expect((await preview("slots")).body).toMatchObject({ count: 1 });
  expect((await preview("slotz")).body.error).toContain("must be one of Slots, Poker");
});

test("a channel that there is none of is refused in filters of consents, and not taken for a player without consent", async () => {
  for (const query of ["consents.emial.eq=true", "consents->>emial=eq.true", "or=(consents.emial.eq.true)"]) {
    const { status, body } = await service.get(`/api/players?${query}`);
    expect([status, body.error], query).toEqual([
      400,
      expect.stringContaining('consents has no key "emial"'),
    ]);
  }
  expect((await service.get("/api/players?consents.email.eq=true")).status).toBe(200);
});

test("places, channels and addresses are compared as they are stored, in every table", async () => {
  const hours = { country: "US", state: "FL", days: [1], open_local: "08:00", close_local: "20:00" };
  await service.call("create_quiet_hours_rule", hours, service.tenant.id);
  const places = (await service.get("/api/quiet_hours_rules?state.eq=florida&country.eq=us")).body;
  expect(places.map(({ state }: { state: string }) => state)).toContain("FL");
  for (const query of ["campaign_sends?channel.eq=mail", "mailbox_messages?channel.eq=mail"]) {
    expect((await service.get(`/api/${query}`)).body.error, query).toContain("is not one of email");
  }
  expect((await service.get("/api/campaign_sends?channel.eq=LoyaltyVIP")).body).toEqual([]);
  const { db } = service.database;
  await db.asProperty(service.tenant.id, async (sql) => {
    await sql`
      insert into mailbox_messages (property_id, id, channel, recipient, text)
      values (${service.tenant.id}, uuid_v7(), 'email', 'zoe@example.com', 'Hi') returning 1`;
  });
  expect((await service.get("/api/mailbox_messages?recipient.eq=ZOE@Example.com")).body).toHaveLength(1);
});

test("a field of lists is filtered by the operators of lists, over REST and by agents, and by no others", async () => {
  const { id: propertyId, key } = await service.newTenant();
  const own = { "X-Api-Key": key };
  const fields = [
    { key: "likes", type: "text_list" },
    { key: "host", type: "text" },
  ];
  await service.post("/api/custom_fields", fields, own);
  for (const [player_id, likes] of [
    ["ann", ["slots", "poker, live"]],
    ["bob", ["slots"]],
    ["cyd", ["keno"]],
    ["dee", null],
  ] as const) {
    await service.post("/api/players", { player_id, custom: { likes, host: "slots" } }, own);
  }
  const list = (query: string) => service.get(`/api/players?order=player_id&${encodeURI(query)}`, own);
  for (const [query, found] of [
    ['custom.likes=cs.{slots,"poker, live"}', ["ann"]],
    ["custom.likes.cs={slots}", ["ann", "bob"]],
    ["custom.likes.not.cs={slots}", ["cyd"]],
    ["custom.likes.cd={slots,keno}", ["bob", "cyd"]],
    ["custom.likes.ov={keno,slots}", ["ann", "bob", "cyd"]],
    ["custom.likes.eq={slots}", ["bob"]],
    ["custom.likes.neq={slots}", ["ann", "cyd"]],
    ["custom->>likes=cs.{keno}", ["cyd"]],
    ['custom->likes=cs.["keno"]', ["cyd"]],
    ["custom.likes.is=null", ["dee"]],
    ["or=(custom.likes.cs.{keno},player_id.eq.dee)", ["cyd", "dee"]],
  ] as const) {
    const { body } = await list(query);
    expect(body.map?.((one: { player_id: string }) => one.player_id) ?? body, query).toEqual(found);
  }
  for (const query of [
    ...["custom.likes.eq=slots", "custom.likes.in=(slots)", "custom.likes.like=*slots*", "custom.likes.gt=5"],
    'custom->likes=lt.["slots"]',
  ]) {
    const { status, body } = await list(query);
    expect([status, body.details?.[0].field], query).toEqual([400, query.split("=")[0]]);
  }
  const { status, body } = await list("custom.host.cs={slots}");
  expect([status, body.error]).toEqual([
    400,
    expect.stringContaining("cs does not fit custom.host, which takes eq"),
  ]);
  const removed = await service.request("DELETE", `/api/players?custom.likes.cs=${encodeURI("{keno}")}`, {
    headers: own,
  });
  expect(removed.body).toEqual([{ success: true }]);
  const filters = { "custom.likes.ov": ["poker, live", "x"] };
  expect(await service.call("list_players", { filters }, propertyId)).toMatchObject([{ player_id: "ann" }]);
  const conditions = [{ field: "custom.likes", operator: "has_all", value: ["slots"] }];
  expect(await service.call("segment_preview", { conditions }, propertyId)).toMatchObject({ count: 2 });
});
