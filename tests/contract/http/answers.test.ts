import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web", corsOrigins: ["https://dashboard.example"] });
});
afterAll(() => service?.stop());

const PRIZE = { game_id: "01900000-0000-7000-8000-000000000000", label: "A", kind: "comp" };

const said = async (path: string, body: object) =>
  (await refused(400, "invalid", service.post(path, body))).body.error as string;

describe("an error is told in plain words", () => {
  test.each([
    ["/api/functions/compliance-check", { phone: "1" }, "channel: is required"],
    ["/api/functions/compliance-check", { channel: "sms", phones: [] }, "phones: is empty: give one or more"],
    ["/api/player_events", { name: "visit" }, "player_id: is required"],
    ["/api/segments", { name: "S", logic: "AND" }, "logic: must be one of and, or; did you mean and?"],
    ["/api/functions/schedule-campaign", {}, "segment_id: is required; it may be null"],
    ["/api/quiet_hours_rules", {}, "open_local: is required; close_local: is required"],
    ["/api/frequency_rules", {}, "max_sends: is required; window_unit: is required"],
    ["/api/players", { adt: "12" }, "adt: must be a number"],
    ["/api/players", { emial: "x@example.com" }, "emial: unknown field; did you mean email?"],
    ["/api/players", { state: "Fla." }, "state: must be a state of US, by its code or name, such as FL"],
    ["/api/players", { country: "ZZ" }, "country: must be an ISO 3166 code, such as US"],
    ["/api/players", { language: "klingon!!" }, "language: must be a language tag (BCP 47), such as en-US"],
    ["/api/campaigns", { name: "V", channel: "fax" }, "channel: must be one of email, sms, voice, push"],
    [
      "/api/webhook_endpoints",
      { url: "https://x.example", events: ["campain.sent"] },
      "did you mean campaign.sent",
    ],
  ])("%s %j: %s", async (path, body, words) => {
    expect(await said(path, body)).toContain(words);
  });

  test("of a number by the bound of its field alone", async () => {
    expect(await said("/api/game_prizes", { ...PRIZE, weight: 1e20 })).toBe(
      "weight: must be at most 2147483647",
    );
    expect(await said("/api/game_prizes", { ...PRIZE, weight: -1e20 })).toBe("weight: must be at least 1");
  });

  test("of a rule by its place, in one notation", async () => {
    const error = await said("/api/segments", {
      name: "S",
      conditions: [{ field: "adt", operator: "EQ", value: 1 }],
    });
    expect(error).toMatch(/^conditions\[0\]\.operator: must be one of eq, .*did you mean eq/);
  });

  test("of days that hold no time", async () => {
    const conditions = [{ field: "created_at", operator: "in_last_days", value: 0 }];
    expect(await said("/api/segments", { name: "S", conditions })).toContain("must be at least 1");
  });
});

describe("places are kept in one form", () => {
  test("a state by its code, a language in its usual case", async () => {
    const { body } = await service.post("/api/players", {
      state: "florida",
      language: "en_us",
      country: "us",
    });
    expect([body.state, body.language, body.country]).toEqual(["FL", "en-US", "US"]);
    const abroad = await service.post("/api/players", { state: "Bavaria", country: "DE" });
    expect(abroad.body.state).toBe("Bavaria");
  });
});

describe("headers that cannot be obeyed", () => {
  test.each([
    [406, "not_acceptable", { Accept: "application/xml" }],
    [400, "invalid", { Range: "0-1" }],
    [400, "invalid", { Prefer: "return=headers-only" }],
  ] as const)("are refused: %i %s %j", async (status, code, headers) => {
    await refused(status, code, service.get("/api/players", headers));
  });

  test("but a browser's are", async () => {
    const headers = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
    expect((await service.get("/api/players", headers)).status).toBe(200);
  });
});

test("a slash behind a path is nothing", async () => {
  expect(
    (await fetch(`${service.baseUrl}/api/players/`, { headers: { "X-Api-Key": service.tenant.key } })).status,
  ).toBe(200);
});

test("a page of a named origin may call the API, and of no other", async () => {
  const ask = (origin: string) =>
    fetch(`${service.baseUrl}/api/players`, {
      method: "OPTIONS",
      headers: { Origin: origin, "Access-Control-Request-Method": "GET" },
    });
  expect((await ask("https://dashboard.example")).headers.get("access-control-allow-origin")).toBe(
    "https://dashboard.example",
  );
  const { headers } = await ask("https://dashboard.example");
  for (const name of ["API-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(headers.get(name), name).toMatch(/^[\d-]+$/);
  }
  expect(headers.get("access-control-allow-headers")).toContain("If-None-Match");
  const shown = (await service.get("/api/players", { Origin: "https://dashboard.example" })).headers;
  for (const name of ["WWW-Authenticate", "Deprecation", "Sunset", "Content-Disposition"]) {
    expect(shown.get("access-control-expose-headers"), name).toContain(name);
  }
  const counted = await fetch(`${service.baseUrl}/api/players`, {
    method: "HEAD",
    headers: { Origin: "https://dashboard.example", "X-Api-Key": service.tenant.key, Prefer: "count=exact" },
  });
  expect([counted.status, counted.headers.get("content-range")]).toEqual([
    200,
    expect.stringMatching(/\/\d+$/),
  ]);
  const agent = (Origin: string) =>
    service.post(
      "/api/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { Origin, Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25" },
    );
  const listed = await agent("https://dashboard.example");
  expect(listed.status, listed.text).toBe(200);
  expect(listed.headers.get("access-control-allow-origin")).toBe("https://dashboard.example");
  expect((await agent("https://evil.example")).status).toBe(403);
  expect((await agent("http://dashboard.example")).status).toBe(403);
  expect((await ask("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull();
});

test("masking keeps an agent from guessing an address letter by letter", async () => {
  const call = async (name: string, input: object) => {
    const { body } = await service.post(
      "/api/mcp?pii=masked",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } },
      { accept: "application/json, text/event-stream" },
    );
    return body.result as { isError?: boolean; structuredContent: { message?: string } };
  };
  for (const filters of [
    { "email.ilike": "canary%" },
    { phone: "like.*1*" },
    { or: "(tier.eq.Gold,first_name.gt.M)" },
    { "email.not.like": "a*" },
  ]) {
    expect((await call("list_players", { filters })).structuredContent.message).toContain("is masked");
  }
  expect((await call("list_players", { order: "last_name.asc" })).isError).toBe(true);
  const conditions = [{ field: "email", operator: "starts_with", value: "c" }];
  expect((await call("segment_preview", { conditions })).isError).toBe(true);
  for (const filters of [
    { "email.eq": "c@example.com" },
    { "email_status.eq": "unknown" },
    { "tier.like": "G*" },
  ]) {
    expect((await call("list_players", { filters })).isError, JSON.stringify(filters)).not.toBe(true);
  }
});

test.each([
  "javascript:alert(1)",
  "data:text/html,x",
  "java\nscript:x",
  "&#106;avascript:x",
  "//host/",
  "VBScript&colon;x",
])("a link to %j is no link", async (href) => {
  const { body } = await service.post("/api/campaigns", {
    ...{ name: "L", subject: "x", audience: "all" },
    body_html: `<a href="${href}">x</a><a href='mailto:a@example.com'>y</a>{{ unsubscribe_url }}`,
  });
  const { body: checked } = await service.post("/api/functions/preflight-campaign", { campaignId: body.id });
  expect(checked.ok).toBe(false);
  expect(JSON.stringify(checked.errors)).toContain("a link is not https");
});

test("an inbox campaign gets a warning that its design is lost", async () => {
  const { body } = await service.post("/api/campaigns", {
    ...{ name: "I", subject: "x", audience: "all", channel: "loyaltyvip" },
    body_html: '<p>Bold <a href="https://example.com">go</a></p>',
  });
  const { body: checked } = await service.post("/api/functions/preflight-campaign", { campaignId: body.id });
  expect(checked.warnings.join()).toContain("body_html: the inbox shows text");
});

test("an event that is reported again with other contents is refused", async () => {
  await service.post("/api/players", { player_id: "ev" });
  const report = (amount: number) =>
    service.post("/api/player_events", {
      ...{ player_id: "ev", name: "deposit", external_id: "e1", occurred_at: "2026-01-01T00:00:00Z" },
      properties: { amount },
    });
  expect((await report(5)).status).toBe(201);
  expect((await report(5)).status).toBe(201);
  expect((await refused(409, "conflict", report(500))).body.error).toContain("other contents");
});
