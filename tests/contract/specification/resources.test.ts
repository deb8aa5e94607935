import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import {
  API_KEY,
  ASYNC_JOB,
  consenting,
  expectFields,
  PLAYER,
  session,
  USER,
  WEBHOOK_ENDPOINT,
} from "./fields.ts";

let service: TestService;
let user: Awaited<ReturnType<TestService["signIn"]>>;

beforeAll(async () => {
  service = await startService();
  user = await service.signIn();
});
afterAll(() => service?.stop());

const createKey = (input: object = {}) =>
  service.post(
    "/api/functions/create-api-key",
    { property_id: service.tenant.id, name: "reports", ...input },
    session(user.token),
  );

describe("What the service does", () => {
  test("All bodies are JSON unless stated otherwise (player export returns CSV)", async () => {
    for (const path of ["/api/players", "/api/nothing", "/api/openapi.json"]) {
      expect((await service.get(path)).headers.get("Content-Type"), path).toMatch(/^application\/json/);
    }
    const exported = await service.post("/api/functions/export-players", { property_id: service.tenant.id });
    expect(exported.headers.get("Content-Type")).toMatch(/^text\/csv/);
  });

  test("Every resource belongs to exactly one property (tenant); requests made with a key are scoped to it", async () => {
    const rival = await service.newTenant();
    const { body: own } = await service.post("/api/players", { first_name: "Ann" });
    expect(own.property_id).toBe(service.tenant.id);
    expect((await service.get(`/api/players/${own.id}`, { "X-Api-Key": rival.key })).status).toBe(404);
    expect((await service.get("/api/players", { "X-Api-Key": rival.key })).body).toEqual([]);
  });

  test("Discovery document: {site_url}/.well-known/mcp.json", async () => {
    const { status, text } = await service.get("/.well-known/mcp.json", { "X-Api-Key": null });
    expect(status).toBe(200);
    expect(text).toContain(`${service.internals.config.baseUrl}/api/mcp`);
  });
});

describe("Error", () => {
  test("error is a human-readable message", async () => {
    const { body } = await service.get("/api/players?limit=many");
    expect(body.error).toMatch(/limit.* /);
  });

  test("retry_after is present on 429", async () => {
    const { body } = await createKey({ rate_limit: 1 });
    const key = { "X-Api-Key": body.api_key };
    await service.get("/api/players", key);
    const refused = await service.get("/api/players", key);
    expect(refused.status).toBe(429);
    expect(Number.isInteger(refused.body.retry_after)).toBe(true);
  });
});

describe("User, LoginRequest and LoginResponse", () => {
  test("login takes email and password, and both are required", async () => {
    const login = (body: object) => service.post("/api/auth/login", body, { "X-Api-Key": null });
    expect((await login({ email: user.email })).status).toBe(400);
    expect((await login({ password: user.password })).status).toBe(400);
    expect((await login({ email: user.email, password: user.password })).status).toBe(200);
  });

  test("the answer has token, user and expires_in", async () => {
    const { body } = await service.post(
      "/api/auth/login",
      { email: user.email, password: user.password },
      { "X-Api-Key": null },
    );
    expect(body.token.split(".")).toHaveLength(3);
    expectFields(body.user, USER);
    expect(Number.isInteger(body.expires_in)).toBe(true);
  });

  test("an example role value is authenticated", async () => {
    const { body } = await service.post("/api/auth/me", {}, session(user.token));
    expectFields(body, USER);
    expect(body).toMatchObject({ id: user.id, email: user.email, role: "authenticated" });
  });
});

describe("ApiKey", () => {
  test("has the metadata, and key_prefix is the first 12 characters of the key", async () => {
    const { body } = await createKey();
    expectFields(body.key, API_KEY);
    expect(body.key.key_prefix).toBe(body.api_key.slice(0, 12));
  });

  test("the secret starts with pk_, is shown once at creation, and only a hash is retained", async () => {
    const { body } = await createKey();
    const secret: string = body.api_key;
    expect(secret).toMatch(/^pk_/);
    const listed = await service.post(
      "/api/functions/list-api-keys",
      { property_id: service.tenant.id },
      session(user.token),
    );
    expect(listed.text).not.toContain(secret);
    const [row] = await service.internals.db.asSystem(
      (sql) => sql`select to_jsonb(k) as kept, key_hash from api_keys k where id = ${body.key.id}`,
    );
    expect(JSON.stringify(row!.kept)).not.toContain(secret);
    expect(row!.key_hash).toEqual(createHash("sha256").update(secret).digest());
  });

  test("rate_limit is 100 by default, and expires_at null means never", async () => {
    const { body } = await createKey();
    expect(body.key).toMatchObject({
      rate_limit: 100,
      expires_at: null,
      is_active: true,
      last_used_at: null,
    });
  });

  test("last_used_at tells of the use", async () => {
    const { body } = await createKey();
    await service.get("/api/players", { "X-Api-Key": body.api_key });
    await expect
      .poll(
        async () => {
          const { body: listed } = await service.post(
            "/api/functions/list-api-keys",
            { property_id: service.tenant.id },
            session(user.token),
          );
          return listed.keys.find(({ id }: { id: string }) => id === body.key.id).last_used_at;
        },
        { timeout: 20_000 },
      )
      .toMatch(/^\d{4}-/);
  });
});

describe("CreateApiKeyRequest and CreateApiKeyResponse", () => {
  test("name is required, and property_id of who has several", async () => {
    const both = session((await service.signIn({ platformAdmin: true })).token);
    await service.newTenant();
    const create = (body: object) => service.post("/api/functions/create-api-key", body, both);
    expect((await create({ property_id: service.tenant.id })).status).toBe(400);
    expect((await create({ name: "nameless house" })).status).toBe(400);
  });

  test("scopes are read and write by default; pass only read for a read-only key", async () => {
    expect((await createKey()).body.key.scopes).toEqual(["read", "write"]);
    expect((await createKey({ scopes: ["read"] })).body.key.scopes).toEqual(["read"]);
    expect((await createKey({ scopes: ["admin"] })).status).toBe(400);
  });

  test("the answer has success, api_key and key, and the guide's id, name, scopes, property_id and created_at", async () => {
    const { body, status } = await createKey();
    expect(status).toBe(200);
    expect(body.success).toBe(true);
    expectFields(body, {
      api_key: "string",
      id: "uuid",
      name: "string",
      scopes: "array of string",
      property_id: "uuid",
      created_at: "date-time",
    });
    expect(body.id).toBe(body.key.id);
  });

  test("the raw secret is returned exactly once, also when the request is replayed", async () => {
    const headers = { ...session(user.token), "Idempotency-Key": "one-secret" };
    const input = { property_id: service.tenant.id, name: "replayed" };
    const first = await service.post("/api/functions/create-api-key", input, headers);
    const again = await service.post("/api/functions/create-api-key", input, headers);
    expect(first.text.split(first.body.api_key)).toHaveLength(2);
    expect(again.headers.get("Idempotency-Replayed")).toBe("true");
    expect(again.body.key.id).toBe(first.body.key.id);
    expect(again.text).not.toContain(first.body.api_key);
  });
});

describe("Player and PlayerInput", () => {
  test("a player has the fields, of their types", async () => {
    const given = {
      player_id: "P-100",
      email: "ann@example.com",
      phone: "+17025550100",
      first_name: "Ann",
      last_name: "Lee",
      tier: "Gold",
      adt: 120.5,
      coin_in: 4000,
      status: "active",
    };
    const { status, body } = await service.post("/api/players", given);
    expect(status).toBe(201);
    expect(body).toMatchObject(given);
    expectFields(body, PLAYER);
  });

  test("no field is marked required: nullable fields are null, and status is active", async () => {
    const { status, body } = await service.post("/api/players", {});
    expect(status).toBe(201);
    expectFields(body, PLAYER);
    expect(body).toMatchObject({ email: null, phone: null, tier: null, adt: null, coin_in: null });
    expect(body.status).toBe("active");
  });

  test("a partial update changes only what it names", async () => {
    const { body } = await service.post("/api/players", { first_name: "Bo", tier: "Gold" });
    const changed = await service.request("PATCH", `/api/players/${body.id}`, { body: { tier: "Platinum" } });
    expect(changed.body).toMatchObject({ id: body.id, first_name: "Bo", tier: "Platinum" });
  });

  test("email is an email and numbers are numbers", async () => {
    for (const wrong of [{ email: "nobody" }, { adt: "much" }, { coin_in: true }, { player_id: 7 }]) {
      expect((await service.post("/api/players", wrong)).status, JSON.stringify(wrong)).toBe(400);
    }
  });
});

describe("ConsentRecordInput", () => {
  const record = (input: object) => service.post("/api/functions/consent-record", input);

  test("playerId, channel and consentGiven are required; propertyId is the key's own", async () => {
    const { body: player } = await service.post("/api/players", {});
    const whole: Record<string, unknown> = {
      propertyId: service.tenant.id,
      playerId: player.id,
      channel: "sms",
      consentGiven: true,
    };
    expect((await record(whole)).status).toBe(200);
    for (const name of Object.keys(whole)) {
      const { [name]: _, ...rest } = whole;
      expect((await record(rest)).status, name).toBe(name === "propertyId" ? 200 : 400);
    }
  });

  test("channel is one of sms, email, voice, push", async () => {
    const { body: player } = await service.post("/api/players", {});
    const input = { propertyId: service.tenant.id, playerId: player.id, consentGiven: true };
    for (const channel of ["sms", "email", "voice", "push"]) {
      expect((await record({ ...input, channel })).status, channel).toBe(200);
    }
    expect((await record({ ...input, channel: "fax" })).status).toBe(400);
  });

  test("the stored event keeps an audit trail: text, version, source, IP address, user agent", async () => {
    const { body: player } = await service.post("/api/players", {});
    await service.post(
      "/api/functions/consent-record",
      {
        propertyId: service.tenant.id,
        playerId: player.id,
        channel: "email",
        consentGiven: true,
        consentSource: "web form",
        consentText: "I agree.",
        consentVersion: "v7",
        ipAddress: "203.0.113.9",
      },
      { "User-Agent": "Kiosk/2" },
    );
    const { body } = await service.get(`/api/consent_records?player_id.eq=${player.id}`);
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({
      consent_text: "I agree.",
      consent_version: "v7",
      consent_source: "web form",
      ip_address: "203.0.113.9",
      user_agent: "Kiosk/2",
      consent_given: true,
    });
  });
});

describe("ComplianceResult", () => {
  test("has allowed, reasons and, of a bulk check, results per number", async () => {
    await consenting(service, { phone: "+17025550142" }, "sms");
    const { body } = await service.post("/api/functions/compliance-check", {
      propertyId: service.tenant.id,
      channel: "sms",
      phones: ["+17025550142", "+17025550143"],
    });
    expectFields(body, { allowed: "boolean", reasons: "array of string", results: "array of object" });
    expect(body.results).toHaveLength(2);
    expect(body.results.map(({ allowed }: { allowed: boolean }) => allowed)).toEqual([true, false]);
    expect(body.allowed).toBe(false);
  });
});

describe("AsyncJob", () => {
  test("an import has its fields, and its status is one of queued, processing, completed, failed", async () => {
    const { body } = await service.post("/api/import_jobs", {
      type: "player_import",
      rows: [{ player_id: "I-1", first_name: "Ida" }],
    });
    expectFields(body, ASYNC_JOB);
    const seen = new Set([body.status]);
    await expect
      .poll(async () => {
        const { body: polled } = await service.get(`/api/import_jobs/${body.id}`);
        seen.add(polled.status);
        return polled.status;
      })
      .toBe("completed");
    for (const status of seen) expect(["queued", "processing", "completed", "failed"]).toContain(status);
    expect(body.status_url).toBe(`${service.internals.config.baseUrl}/api/import_jobs/${body.id}`);
  });

  test("an example type is email_validation", async () => {
    const { body } = await service.post("/api/validation_jobs", {
      type: "email_validation",
      emails: ["ann@example.com"],
      level: "syntax",
    });
    expectFields(body, ASYNC_JOB);
    expect(body.type).toBe("email_validation");
  });
});

describe("WebhookEndpoint", () => {
  test("url and events are required, and the record has the fields", async () => {
    const create = (input: object) => service.post("/api/webhook_endpoints", input);
    expect((await create({ url: "https://receiver.example/hook" })).status).toBe(400);
    expect((await create({ events: ["campaign.sent"] })).status).toBe(400);
    const { body } = await create({
      url: "https://receiver.example/hook",
      events: ["campaign.sent", "player.created", "consent.revoked"],
    });
    expectFields(body, WEBHOOK_ENDPOINT);
    expect(body.is_active).toBe(true);
  });
});

describe("Other records", () => {
  test("a segment is static or dynamic, identified by a uuid, and its rule rows are field, operator, value", async () => {
    const rule = { field: "tier", operator: "eq", value: "Gold" };
    const dynamic = await service.post("/api/segments", {
      name: "Gold",
      type: "dynamic",
      conditions: [rule],
    });
    expectFields(dynamic.body, { id: "uuid" });
    expect(dynamic.body.conditions).toEqual([rule]);
    expect((await service.post("/api/segments", { name: "By hand", type: "static" })).status).toBe(201);
  });

  test("a campaign is identified by a uuid", async () => {
    const { body } = await service.post("/api/campaigns", { name: "Hello" });
    expectFields(body, { id: "uuid" });
  });
});
