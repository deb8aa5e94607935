import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOWHERE } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { consenting, expectFields, PLAYER, session, WEBHOOK_ENDPOINT } from "./fields.ts";

let service: TestService;
let admin: Record<string, string | null>;

beforeAll(async () => {
  service = await startService();
  admin = session((await service.signIn()).token);
});
afterAll(() => service?.stop());

const fn = (name: string, input: object, headers?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, input, headers);

const makeKey = (input: object = {}, headers = admin) =>
  fn("create-api-key", { property_id: service.tenant.id, name: "k", ...input }, headers);

describe("Common conventions", () => {
  test("Function endpoints: POST /api/functions/{name} with a JSON body", async () => {
    const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
    const answer = await fn("segment-preview", { propertyId: service.tenant.id, conditions });
    expect(answer.status).toBe(200);
    expect((await service.get("/api/functions/segment-preview")).status).toBe(405);
  });

  test("Table CRUD: GET, POST, PATCH, DELETE on /api/{table} and /api/{table}/{id}", async () => {
    const created = await service.post("/api/segments", { name: "Crud", type: "static" });
    const path = `/api/segments/${created.body.id}`;
    expect(created.status).toBe(201);
    expect((await service.get("/api/segments")).status).toBe(200);
    expect((await service.get(path)).body.name).toBe("Crud");
    expect((await service.request("PATCH", path, { body: { name: "Crude" } })).body.name).toBe("Crude");
    expect((await service.request("DELETE", path)).body).toEqual({ success: true });
    expect((await service.get(path)).status).toBe(404);
  });

  test("players, webhook_endpoints, validation_jobs, import_jobs and campaigns are tables", async () => {
    for (const table of ["players", "webhook_endpoints", "validation_jobs", "import_jobs", "campaigns"]) {
      const { status, body } = await service.get(`/api/${table}`);
      expect(status, table).toBe(200);
      expect(Array.isArray(body), table).toBe(true);
    }
  });

  test("Header X-Property-Id selects the property; optional for API keys", async () => {
    const own = { "X-Property-Id": service.tenant.id };
    expect((await service.get("/api/players", own)).status).toBe(200);
    expect((await service.get("/api/players")).status).toBe(200);
  });

  test("X-Property-Id is required for a JWT user who has access to several properties", async () => {
    const several = await service.signIn();
    const other = await service.newTenant();
    await service.call("grant_membership", { property_id: other.id, user_id: several.id, role: "manager" });
    const headers = session(several.token);
    const unsaid = await service.get("/api/players", headers);
    expect(unsaid.status).toBe(400);
    expect(unsaid.body.error).toContain("X-Property-Id");
    expect((await service.get("/api/players", { ...headers, "X-Property-Id": other.id })).status).toBe(200);
  });

  test("Header Idempotency-Key: a replay returns the original response, says so, and does not write again", async () => {
    const headers = { "Idempotency-Key": "spec-replay" };
    const first = await service.post("/api/players", { player_id: "IDEM" }, headers);
    const again = await service.post("/api/players", { player_id: "IDEM" }, headers);
    expect(again.text).toBe(first.text);
    expect(again.status).toBe(first.status);
    expect(first.headers.get("Idempotency-Replayed")).toBeNull();
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    expect((await service.get("/api/players?player_id.eq=IDEM")).body).toHaveLength(1);
  });

  test("Idempotency-Key is honored on POST, PATCH and DELETE, of tables and functions", async () => {
    const { body: player } = await service.post("/api/players", {});
    const path = `/api/players/${player.id}`;
    const twice = async (key: string, send: (headers: Record<string, string>) => Promise<unknown>) => {
      await send({ "Idempotency-Key": key });
      return send({ "Idempotency-Key": key });
    };
    const calls = {
      patch: (headers: Record<string, string>) =>
        service.request("PATCH", path, { body: { tier: "Gold" }, headers }),
      fn: (headers: Record<string, string>) =>
        fn("consent-revoke", { propertyId: service.tenant.id, playerId: player.id, channel: "sms" }, headers),
      remove: (headers: Record<string, string>) => service.request("DELETE", path, { headers }),
    };
    for (const [key, send] of Object.entries(calls)) {
      const again = (await twice(`spec-${key}`, send)) as { headers: Headers; status: number };
      expect(again.headers.get("Idempotency-Replayed"), key).toBe("true");
      expect(again.status, key).toBe(200);
    }
  });

  test("Every response carries API-Version and the advisory X-RateLimit headers", async () => {
    for (const answer of [
      await service.get("/api/players"),
      await service.get("/api/players", { "X-Api-Key": null }),
      await service.get("/api/nothing"),
      await service.post("/api/players", "{", { "Content-Type": "application/json" }),
    ]) {
      expect(answer.headers.get("API-Version")).toMatch(/^\d{4}-\d\d-\d\d$/);
      for (const name of ["Limit", "Remaining", "Reset"]) {
        expect(answer.headers.get(`X-RateLimit-${name}`), name).toMatch(/^\d+$/);
      }
    }
  });
});

describe("Filters on list queries", () => {
  beforeAll(async () => {
    for (const [name, adt, tier] of [
      ["Filter Ann", 10, "Gold"],
      ["Filter bob", 20, "Silver"],
      ["Filter Cat", 30, null],
    ] as const) {
      await service.post("/api/players", { first_name: name, adt, tier, last_name: "Filtered" });
    }
  });

  const names = async (query: string) => {
    const { body } = await service.get(`/api/players?last_name.eq=Filtered&order=adt.asc&${query}`);
    return body.map(({ first_name }: { first_name: string }) => first_name.slice(7));
  };

  test.each([
    ["adt.eq=20", ["bob"]],
    ["adt.neq=20", ["Ann", "Cat"]],
    ["adt.gt=20", ["Cat"]],
    ["adt.gte=20", ["bob", "Cat"]],
    ["adt.lt=20", ["Ann"]],
    ["adt.lte=20", ["Ann", "bob"]],
    ["first_name.like=*B*", []],
    ["first_name.like=*b*", ["bob"]],
    ["first_name.ilike=*B*", ["bob"]],
    ["tier.in=(Gold,Silver)", ["Ann", "bob"]],
    ["tier.is=null", ["Cat"]],
    ["tier.not.is=null", ["Ann", "bob"]],
    ["tier.not=eq.Gold", ["bob"]],
    ["adt=gte.20", ["bob", "Cat"]],
    ["tier=not.in.(Gold)", ["bob"]],
  ])("%s", async (query, expected) => {
    expect(await names(query)).toEqual(expected);
  });

  test("order=<column>.<asc|desc>, limit, offset", async () => {
    const { body } = await service.get("/api/players?last_name.eq=Filtered&order=adt.desc&limit=1&offset=1");
    expect(body.map(({ adt }: { adt: number }) => adt)).toEqual([20]);
  });
});

describe("Authentication and keys", () => {
  test("POST /api/auth/login: 401 for invalid credentials", async () => {
    const { email } = await service.signIn();
    const wrong = await service.post("/api/auth/login", { email, password: "not it" }, { "X-Api-Key": null });
    expect(wrong.status).toBe(401);
    expect(wrong.body.error).toBe("invalid_credential");
  });

  test("POST /api/auth/login: 429 with retry_after", async () => {
    const { email } = await service.signIn();
    const login = () =>
      service.post("/api/auth/login", { email, password: "not it either" }, { "X-Api-Key": null });
    let answer = await login();
    for (let tries = 1; tries < 10 && answer.status !== 429; tries += 1) answer = await login();
    expect(answer.status).toBe(429);
    expect(Number.isInteger(answer.body.retry_after)).toBe(true);
  });

  test("POST /api/auth/me: 200 User, and 401 without a token", async () => {
    expect((await service.post("/api/auth/me", {}, admin)).status).toBe(200);
    expect((await service.post("/api/auth/me", {}, { "X-Api-Key": null })).status).toBe(401);
  });

  test("create-api-key takes a JWT: 401 without, 403 for a user who manages nothing here", async () => {
    expect((await makeKey({}, { "X-Api-Key": null })).status).toBe(401);
    const outsider = await service.signIn({ role: null });
    expect((await makeKey({}, session(outsider.token))).status).toBe(403);
  });

  test("Caller of create-api-key must be a platform admin or a property admin/manager", async () => {
    const statusOf = async (who: Parameters<TestService["signIn"]>[0]) =>
      (await makeKey({}, session((await service.signIn(who)).token))).status;
    expect(await statusOf({ role: "admin" })).toBe(200);
    expect(await statusOf({ role: "manager" })).toBe(200);
    expect(await statusOf({ role: null, platformAdmin: true })).toBe(200);
    expect(await statusOf({ role: "analyst" })).toBe(403);
  });

  test("list-api-keys: {keys}, metadata only", async () => {
    const { body: made } = await makeKey({ name: "listed" });
    const { status, body, text } = await fn("list-api-keys", { property_id: service.tenant.id }, admin);
    expect(status).toBe(200);
    expect(body.keys.map(({ name }: { name: string }) => name)).toContain("listed");
    expect(text).not.toContain(made.api_key);
    const both = session((await service.signIn({ platformAdmin: true })).token);
    expect((await fn("list-api-keys", {}, both)).status).toBe(400);
    const analyst = session((await service.signIn({ role: "analyst" })).token);
    const read = await fn("list-api-keys", { property_id: service.tenant.id }, analyst);
    // The time of the last use is written now and then, between the two calls too.
    const lasting = ({ keys }: typeof body) => keys.map((key: object) => ({ ...key, last_used_at: null }));
    expect([read.status, lasting(read.body)]).toEqual([200, lasting(body)]);
    const other = await service.newTenant();
    const foreign = await fn("list-api-keys", { property_id: other.id }, analyst);
    expect([foreign.status, foreign.body.error]).toEqual([403, "wrong_property"]);
    expect((await fn("create-api-key", { property_id: service.tenant.id, name: "k" }, analyst)).status).toBe(
      403,
    );
    expect(
      (await fn("list-api-keys", { property_id: service.tenant.id }, { "X-Api-Key": null })).status,
    ).toBe(401);
  });

  test("revoke-api-key: SuccessResponse, at once, and 404 for a key that is not there", async () => {
    const { body } = await makeKey();
    const credential = { "X-Api-Key": body.api_key };
    expect((await service.get("/api/players", credential)).status).toBe(200);
    expect((await fn("revoke-api-key", { key_id: body.key.id }, admin)).body).toMatchObject({
      success: true,
    });
    const refused = await service.get("/api/players", credential);
    expect([refused.status, refused.body.error]).toEqual([401, "invalid_credential"]);
    expect((await fn("revoke-api-key", { key_id: NOWHERE }, admin)).status).toBe(404);
  });
});

describe("Players", () => {
  test("GET /api/players: limit 50 by default, at most 1000; offset 0", async () => {
    const rows = Array.from({ length: 60 }, (_, index) => ({ player_id: `many-${index}` }));
    expect((await service.post("/api/players", rows)).status).toBe(201);
    expect((await service.get("/api/players")).body).toHaveLength(50);
    expect((await service.get("/api/players?limit=1000")).status).toBe(200);
    expect((await service.get("/api/players?limit=1001")).status).toBe(400);
  });

  test("GET /api/players: filters such as email.ilike; an array of Player; 401", async () => {
    await service.post("/api/players", { email: "Case@Example.com" });
    const { body } = await service.get("/api/players?email.ilike=case@*");
    expect(body).toHaveLength(1);
    expectFields(body[0], PLAYER);
    expect((await service.get("/api/players", { "X-Api-Key": null })).status).toBe(401);
  });

  test("POST 201, GET 200 or 404, PATCH 200, DELETE 200 SuccessResponse", async () => {
    const created = await service.post("/api/players", { first_name: "Life" });
    expect(created.status).toBe(201);
    const path = `/api/players/${created.body.id}`;
    expect((await service.get(path)).status).toBe(200);
    const patched = await service.request("PATCH", path, { body: { last_name: "Cycle" } });
    expect([patched.status, patched.body.last_name]).toEqual([200, "Cycle"]);
    const removed = await service.request("DELETE", path);
    expect([removed.status, removed.body]).toEqual([200, { success: true }]);
    expect((await service.get(path)).status).toBe(404);
    expect((await service.get(`/api/players/${NOWHERE}`)).status).toBe(404);
  });

  test("a write with a read-only key: 403", async () => {
    const answer = await service.post("/api/players", {}, { "X-Api-Key": service.tenant.readKey });
    expect([answer.status, answer.body.error]).toEqual([403, "insufficient_scope"]);
  });
});

describe("export-players", () => {
  const exported = (input: object = {}, headers?: Record<string, string | null>) =>
    fn("export-players", { property_id: service.tenant.id, ...input }, headers);

  test("200 text/csv attachment with every player field", async () => {
    const { status, headers, text } = await exported();
    expect(status).toBe(200);
    expect(headers.get("Content-Type")).toMatch(/^text\/csv/);
    expect(headers.get("Content-Disposition")).toMatch(/^attachment; filename=/);
    const columns = text.split(/\r?\n/)[0]!.split(",");
    for (const field of Object.keys(PLAYER)) expect(columns).toContain(field);
  });

  test("property_id is required of who has several, and membership is verified", async () => {
    const both = session((await service.signIn({ platformAdmin: true })).token);
    await service.newTenant();
    expect((await fn("export-players", {}, both)).status).toBe(400);
    expect((await exported({ property_id: NOWHERE })).status).toBe(403);
    expect((await exported({}, { "X-Api-Key": null })).status).toBe(401);
  });

  test("conditions with logic and or or, default and", async () => {
    for (const [id, tier, adt] of [
      ["ex-1", "Ruby", 1],
      ["ex-2", "Ruby", 2],
      ["ex-3", "Opal", 2],
    ] as const) {
      await service.post("/api/players", { player_id: id, tier, adt, state: "NV" });
    }
    const conditions = [
      { field: "tier", operator: "eq", value: "Ruby" },
      { field: "adt", operator: "eq", value: 2 },
    ];
    const found = (text: string) => [...text.matchAll(/ex-\d/g)].map(([id]) => id).sort();
    expect(found((await exported({ conditions })).text)).toEqual(["ex-2"]);
    expect(found((await exported({ conditions, logic: "and" })).text)).toEqual(["ex-2"]);
    expect(found((await exported({ conditions, logic: "or" })).text)).toContain("ex-1");
    expect((await exported({ conditions, logic: "xor" })).status).toBe(400);
  });

  test("segment_id of a static or dynamic segment; 404 when it is not in the property", async () => {
    const { body } = await service.post("/api/segments", {
      name: "Exported",
      conditions: [{ field: "player_id", operator: "eq", value: "ex-3" }],
    });
    const { text } = await exported({ segment_id: body.id });
    expect(text.trim().split("\n")).toHaveLength(2);
    expect((await exported({ segment_id: NOWHERE })).status).toBe(404);
  });

  test("limit: 50000 by default and at most", async () => {
    expect((await exported({ limit: 50000 })).status).toBe(200);
    expect((await exported({ limit: 50001 })).status).toBe(400);
    expect((await exported({ limit: 1 })).text.trim().split("\n")).toHaveLength(2);
  });
});

describe("Consent and compliance", () => {
  const check = (input: object) =>
    fn("compliance-check", { propertyId: service.tenant.id, channel: "sms", ...input });

  test("consent-record and consent-revoke: SuccessResponse", async () => {
    const id = await consenting(service, { phone: "+17025550161" }, "sms");
    expect((await check({ phone: "+17025550161" })).body).toMatchObject({ allowed: true, reasons: [] });
    const revoked = await fn("consent-revoke", { propertyId: service.tenant.id, playerId: id });
    expect(revoked.body).toMatchObject({ success: true });
    expect((await check({ phone: "+17025550161" })).body.allowed).toBe(false);
  });

  test("compliance-check: propertyId (of who has several) and channel are required; phone or phones", async () => {
    const both = session((await service.signIn({ platformAdmin: true })).token);
    await service.newTenant();
    const asked = { channel: "sms", phone: "+17025550100" };
    expect((await fn("compliance-check", asked, both)).status).toBe(400);
    expect((await fn("compliance-check", { propertyId: service.tenant.id, phone: "1" })).status).toBe(400);
    expect((await check({ channel: "fax", phone: "+17025550100" })).status).toBe(400);
    expect((await check({})).status).toBe(400);
  });

  test("reasons: suppressed", async () => {
    await consenting(service, { phone: "+17025550162" }, "sms");
    await service.post("/api/suppressions", { channel: "sms", address: "+17025550162" });
    expect((await check({ phone: "+17025550162" })).body.reasons).toEqual(["suppressed"]);
  });

  test("reasons: dnc", async () => {
    await consenting(service, { phone: "+17025550163" }, "sms");
    await service.post("/api/dnc_entries", { phone: "+17025550163" });
    expect((await check({ phone: "+17025550163" })).body.reasons).toEqual(["dnc"]);
  });

  test("reasons: no_consent", async () => {
    await service.post("/api/players", { phone: "+17025550164" });
    expect((await check({ phone: "+17025550164" })).body.reasons).toEqual(["no_consent"]);
    expect((await check({ phone: "+17025550999" })).body.reasons).toEqual(["no_consent"]);
  });

  test("compliance-check is a read", async () => {
    const headers = { "X-Api-Key": service.tenant.readKey };
    const input = { propertyId: service.tenant.id, channel: "sms", phone: "+17025550164" };
    expect((await fn("compliance-check", input, headers)).status).toBe(200);
  });
});

describe("Data privacy", () => {
  test("data-export: all data for the player, in a read", async () => {
    const id = await consenting(service, { email: "export@example.com", player_id: "DX-1" });
    const input = { propertyId: service.tenant.id, playerId: id };
    const { status, body } = await fn("data-export", input, { "X-Api-Key": service.tenant.readKey });
    expect(status).toBe(200);
    expect(body.player).toMatchObject({ id, email: "export@example.com" });
    for (const name of [
      "consent_records",
      "campaign_sends",
      "game_plays",
      "inbox_messages",
      "journey_enrollments",
      "suppressions",
      "dnc_entries",
      "social_shares",
    ]) {
      expect(Array.isArray(body[name]), name).toBe(true);
    }
    expect(body.consent_records).toHaveLength(1);
    expect((await fn("data-export", { propertyId: service.tenant.id })).status).toBe(400);
    expect((await fn("data-export", { ...input, playerId: NOWHERE })).status).toBe(404);
  });

  test("data-deletion: SuccessResponse; the data is gone, and an audit log entry is written", async () => {
    const id = await consenting(service, { email: "erase@example.com" });
    const { status, body } = await fn("data-deletion", {
      propertyId: service.tenant.id,
      playerId: id,
      reason: "asked by letter",
      requestedBy: (await service.signIn()).id,
    });
    expect([status, body.success]).toEqual([200, true]);
    expect((await service.get(`/api/players/${id}`)).status).toBe(404);
    expect((await service.get("/api/players?email.eq=erase@example.com")).body).toEqual([]);
    const { body: audited } = await service.get("/api/audit_logs?action.eq=data_deletion");
    expect(audited).toHaveLength(1);
    expect((await fn("data-deletion", { propertyId: service.tenant.id })).status).toBe(400);
  });
});

describe("Jobs", () => {
  test("GET /api/validation_jobs/{id} and /api/import_jobs/{id}: 200 for a read key, 404", async () => {
    for (const [table, input] of [
      ["import_jobs", { type: "player_import", rows: [{ player_id: "J-1" }] }],
      ["validation_jobs", { type: "email_validation", emails: ["a@example.com"], level: "syntax" }],
    ] as const) {
      const started = await service.post(`/api/${table}`, input);
      expect(started.status, table).toBe(202);
      expect(started.headers.get("Location"), table).toContain(started.body.id);
      const polled = await service.get(`/api/${table}/${started.body.id}`, {
        "X-Api-Key": service.tenant.readKey,
      });
      expect(polled.status, table).toBe(200);
      expect((await service.get(`/api/${table}/${NOWHERE}`)).status, table).toBe(404);
    }
  });

  test("a job row is polled until status is completed", async () => {
    const { body } = await service.post("/api/validation_jobs", {
      type: "email_validation",
      emails: ["ann@example.com", "nobody@@example"],
      level: "syntax",
    });
    await expect
      .poll(async () => (await service.get(`/api/validation_jobs/${body.id}`)).body)
      .toMatchObject({ status: "completed", total: 2, processed: 2 });
  });
});

describe("Webhook endpoints", () => {
  test("GET 200 array, POST 201; update and delete follow the standard table CRUD pattern", async () => {
    const { status, body } = await service.post("/api/webhook_endpoints", {
      url: "https://receiver.example/a",
      events: ["campaign.sent"],
    });
    expect(status).toBe(201);
    const { body: list } = await service.get("/api/webhook_endpoints");
    expectFields(list[0], WEBHOOK_ENDPOINT);
    const path = `/api/webhook_endpoints/${body.id}`;
    const changed = await service.request("PATCH", path, { body: { events: ["player.created"] } });
    expect(changed.body.events).toEqual(["player.created"]);
    expect((await service.request("DELETE", path)).body).toEqual({ success: true });
  });
});

describe("MCP", () => {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
  const accept = { Accept: "application/json, text/event-stream" };

  test("POST /api/mcp with X-Api-Key or Authorization: Bearer pk_...", async () => {
    const bearer = { "X-Api-Key": null, Authorization: `Bearer ${service.tenant.key}` };
    for (const headers of [{}, bearer]) {
      const { status, body } = await service.post("/api/mcp", message, { ...accept, ...headers });
      expect(status).toBe(200);
      expect(body.result.tools.length).toBeGreaterThan(5);
    }
    expect((await service.post("/api/mcp", message, { ...accept, "X-Api-Key": null })).status).toBe(401);
  });

  test("It exposes service operations as agent tools", async () => {
    const { body } = await service.post("/api/mcp", message, accept);
    const names = body.result.tools.map(({ name }: { name: string }) => name);
    for (const name of ["list_players", "send_campaign", "compliance_check", "consent_record"]) {
      expect(names).toContain(name);
    }
  });
});
