import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { session } from "./fields.ts";

let service: TestService;
let admin: Record<string, string | null>;

beforeAll(async () => {
  service = await startService();
  admin = session((await service.signIn()).token);
});
afterAll(() => service?.stop());

const limited = async (rate_limit?: number) => {
  const input = { property_id: service.tenant.id, name: "limited", ...(rate_limit && { rate_limit }) };
  const { body } = await service.post("/api/functions/create-api-key", input, admin);
  return { "X-Api-Key": body.api_key as string };
};

describe("Errors", () => {
  test("Body: JSON {error: <string>}, for every client error", async () => {
    const large = JSON.stringify({ first_name: "x".repeat(1_100_000) });
    for (const [status, answer] of [
      [400, service.get("/api/players?limit=x")],
      [400, service.post("/api/players", { nonsense: 1 })],
      [401, service.get("/api/players", { "X-Api-Key": null })],
      [403, service.post("/api/players", {}, { "X-Api-Key": service.tenant.readKey })],
      [404, service.get("/api/nothing")],
      [405, service.request("PUT", "/api/players")],
      [413, service.post("/api/players", large, { "Content-Type": "application/json" })],
      [415, service.post("/api/players", "a=b", { "Content-Type": "text/plain" })],
    ] as const) {
      const { status: given, body, headers } = await answer;
      expect(given).toBe(status);
      expect(typeof body.error).toBe("string");
      expect(headers.get("Content-Type")).toMatch(/^application\/json/);
    }
  });

  test("409 where the state does not allow it", async () => {
    await service.post("/api/players", { player_id: "TWICE" });
    const { status, body } = await service.post("/api/players", { player_id: "TWICE" });
    expect(status).toBe(409);
    expect(typeof body.error).toBe("string");
  });

  test("writes are safely retried with an Idempotency-Key: at once, from many places", async () => {
    const headers = { "Idempotency-Key": "many-at-once" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.post("/api/players", { player_id: "ONCE" }, headers)),
    );
    const ids = new Set(answers.filter(({ status }) => status === 201).map(({ body }) => body.id));
    expect(ids.size).toBe(1);
    expect((await service.get("/api/players?player_id.eq=ONCE")).body).toHaveLength(1);
  });

  test("the same Idempotency-Key for another request is refused, and nothing is written", async () => {
    const headers = { "Idempotency-Key": "reused" };
    await service.post("/api/players", { player_id: "FIRST" }, headers);
    const other = await service.post("/api/players", { player_id: "SECOND" }, headers);
    expect(other.status).toBe(422);
    expect((await service.get("/api/players?player_id.eq=SECOND")).body).toEqual([]);
  });
});

describe("Limits", () => {
  test("Rate limit per API key: configurable per key, default 100", async () => {
    expect((await service.get("/api/players", await limited())).headers.get("X-RateLimit-Limit")).toBe("100");
    expect((await service.get("/api/players", await limited(7))).headers.get("X-RateLimit-Limit")).toBe("7");
  });

  test("429 rate_limited: body has retry_after, response has X-RateLimit-Reset", async () => {
    const key = await limited(3);
    const answers = [];
    for (let asked = 0; asked < 5; asked += 1) answers.push(await service.get("/api/players", key));
    const refused = answers.at(-1)!;
    expect([refused.status, refused.body.error]).toEqual([429, "rate_limited"]);
    expect(refused.body.retry_after).toBeGreaterThan(0);
    expect(refused.headers.get("Retry-After")).toBe(String(refused.body.retry_after));
    expect(refused.body.details).toEqual([
      { field: "retry_after", message: expect.stringContaining(`wait ${refused.body.retry_after} second`) },
    ]);
    const reset = Number(refused.headers.get("X-RateLimit-Reset"));
    expect(reset * 1000).toBeGreaterThan(Date.now() - 1000);
    expect(reset * 1000).toBeLessThan(Date.now() + 120_000);
  });

  test("X-RateLimit-Remaining goes down", async () => {
    const key = await limited(50);
    const remaining = async () =>
      Number((await service.get("/api/players", key)).headers.get("X-RateLimit-Remaining"));
    const first = await remaining();
    expect(await remaining()).toBeLessThan(first);
  });

  test("the limit of one key is not another's", async () => {
    const [one, other] = [await limited(1), await limited(1)];
    await service.get("/api/players", one);
    expect((await service.get("/api/players", one)).status).toBe(429);
    expect((await service.get("/api/players", other)).status).toBe(200);
  });

  test("Player list limit: default 50, maximum 1000; offset default 0", async () => {
    const rows = Array.from({ length: 55 }, (_, index) => ({ player_id: `limit-${index}`, tier: "Limit" }));
    await service.post("/api/players", rows);
    expect((await service.get("/api/players?tier.eq=Limit")).body).toHaveLength(50);
    expect((await service.get("/api/players?tier.eq=Limit&limit=1000")).body).toHaveLength(55);
    expect((await service.get("/api/players?tier.eq=Limit&offset=50")).body).toHaveLength(5);
    expect((await service.get("/api/players?limit=1001")).status).toBe(400);
    expect((await service.get("/api/players?offset=-1")).status).toBe(400);
  });

  test("Player export limit: default 50000, maximum 50000", async () => {
    const exported = (limit: number) =>
      service.post("/api/functions/export-players", { property_id: service.tenant.id, limit });
    expect((await exported(50_000)).status).toBe(200);
    expect((await exported(50_001)).status).toBe(400);
    expect((await exported(0)).status).toBe(400);
  });

  test("Idempotency replay window: 24 hours", async () => {
    await service.post("/api/players", { player_id: "KEPT" }, { "Idempotency-Key": "window" });
    const [kept] = await service.internals.db.asProperty(
      service.tenant.id,
      (sql) => sql`
        select extract(epoch from expires_at - created_at)::int as seconds from idempotency_records
        where property_id = ${service.tenant.id} and key = 'window'`,
    );
    expect(kept!.seconds).toBe(24 * 60 * 60);
  });
});

describe("Versioning", () => {
  test("1. and 2. The current version is 2026-06-05, and every response carries it", async () => {
    for (const path of ["/api/players", "/api/nothing", "/api/openapi.json"]) {
      expect((await service.get(path)).headers.get("API-Version"), path).toBe("2026-06-05");
    }
  });

  test("3. A request may pin a version with the optional API-Version header", async () => {
    const { headers } = await service.get("/api/players");
    const version = headers.get("API-Version")!;
    const pinned = await service.get("/api/players", { "API-Version": version });
    expect([pinned.status, pinned.headers.get("API-Version")]).toEqual([200, version]);
  });

  test("An unknown version is refused, with the list of known ones", async () => {
    const { status, body } = await service.get("/api/players", { "API-Version": "1999-01-01" });
    expect(status).toBe(400);
    expect(body.error).toMatch(/\d{4}-\d\d-\d\d/);
  });
});
