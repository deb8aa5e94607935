import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { refused } from "../../support/answers.ts";
import { workOf } from "../../support/cpu-time.ts";
import { type Answer, startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const player = (input: object) => service.post("/api/players", input);
const count = async () => (await service.get("/api/players?limit=1000")).body.length;
const OBJECT = { Accept: "application/vnd.pgrst.object+json" };

describe("an address", () => {
  test("that is not percent-encoded UTF-8 is refused, and never read as another", async () => {
    await service.post("/api/players", { tier: "\ufffd", email: "ann@example.com" });
    for (const query of [
      "tier.eq=%ff",
      "tier.eq=%c3%28",
      "tier.eq=%ed%a0%80",
      "tier.eq=%",
      "tier.eq=%zz",
      "%ff.eq=1",
    ]) {
      await refused(400, "invalid", service.get(`/api/players?${query}`));
      await refused(400, "invalid", service.request("DELETE", `/api/players?${query}`));
    }
    await refused(400, "invalid", service.get("/api/players/%ff"));
    await refused(400, "invalid", service.get("/api/%c3%28"));
    expect((await service.get("/api/players?tier.eq=%EF%BF%BD")).body).toHaveLength(1);
    expect((await service.get("/api/players?email.ilike=%25ANN%25")).body).toHaveLength(1);
  });

  test.each([
    ["create-import-job", "create_import_job is POST /api/import_jobs."],
    ["list_players", "list_players is GET /api/players."],
    ["segment-previw", "did you mean /api/functions/segment-preview or "],
  ])("at which nothing answers is told from the operation that it means: %s", async (name, words) => {
    const { body } = await refused(404, "not_found", service.post(`/api/functions/${name}`, {}));
    expect(body.error).toContain(words);
  });
});

describe("a list of values", () => {
  test("whose quote is not closed is refused", async () => {
    for (const list of ['("a)', '("a,b)', '(a,"b)', '"a', '("a\\")']) {
      await refused(400, "invalid", service.get(`/api/players?tier.in=${encodeURIComponent(list)}`));
    }
    for (const list of ['("a")', '("a,b","c")', '(a"b)', '("a\\"")']) {
      expect((await service.get(`/api/players?tier.in=${encodeURIComponent(list)}`)).status, list).toBe(200);
    }
  });

  test("of is takes its words in any case, alone and in a group", async () => {
    for (const word of ["NULL", "Null", "not_null", "NOT_NULL"]) {
      expect((await service.get(`/api/players?tier.is=${word}`)).status, word).toBe(200);
      expect((await service.get(`/api/players?or=(tier.is.${word},adt.is.${word})`)).status, word).toBe(200);
    }
    for (const word of ["TRUE", "False", "UNKNOWN"]) {
      expect((await service.get(`/api/players?legal_hold=is.${word}`)).status, word).toBe(200);
    }
  });
});

test("a body in another charset than UTF-8 is not guessed at", async () => {
  const send = (type: string) => service.post("/api/players", '{"tier":"Gold"}', { "Content-Type": type });
  for (const charset of ["iso-8859-1", '"utf-16"', "windows-1252", "UTF-7"]) {
    await refused(415, "unsupported_media_type", send(`application/json; charset=${charset}`));
    await refused(
      415,
      "unsupported_media_type",
      service.post("/api/import_jobs", "player_id\n1\n", { "Content-Type": `text/csv; charset=${charset}` }),
    );
  }
  for (const charset of ["utf-8", "UTF-8", '"utf-8"', "utf8"]) {
    expect((await send(`application/json; charset=${charset}`)).status).toBe(201);
  }
});

test("a part of an address beside its arguments is refused, and nothing is done", async () => {
  const { body: campaign } = await service.post("/api/campaigns", {
    ...{ name: "Not yet", channel: "email", subject: "Hi", body_text: "Hi", audience: "all" },
  });
  const sending = { campaignId: campaign.id, propertyId: service.tenant.id };
  for (const path of ["send-campaign?dry_run=true", "send-campaign?propertyId="]) {
    const { status, body } = await service.post(`/api/functions/${path}`, sending);
    expect([status, body.details[0].field], path).toEqual([400, path.split(/[?=]/)[1]]);
    expect((await service.get(`/api/campaigns/${campaign.id}`)).body.status, path).toBe("draft");
  }
  const { body: kept } = await player({ player_id: "address-1" });
  for (const [method, path, input] of [
    ["POST", "/api/players?dry_run=maybe", {}],
    ["POST", "/api/players?select=id&select=email", {}],
    ["PATCH", `/api/players/${kept.id}?dry_run=yes`, { tier: "X" }],
    ["DELETE", `/api/players/${kept.id}?dryrun=true`, undefined],
    ["GET", `/api/players/${kept.id}?limit=1`, undefined],
    ["PATCH", "/api/players?player_id=eq.address-1&select=id&select=tier", { tier: "X" }],
    ["POST", "/api/auth/login?email=a@example.com", { email: "a@example.com", password: "x" }],
    ["GET", `/api/import_jobs/${randomUUID()}/errors?id=1`, undefined],
    ["GET", `/api/validation_jobs/${randomUUID()}/results?limit=1&limit=2`, undefined],
  ] as const) {
    const answer = await service.request(method, path, input ? { body: input } : {});
    expect([answer.status, answer.body.code], path).toEqual([400, "invalid"]);
  }
  expect((await service.get("/api/players?player_id=eq.address-1")).body).toEqual([kept]);
});

test("an option is no filter: a change of a whole collection is refused", async () => {
  await player({ player_id: "stay-1" });
  await player({ player_id: "stay-2" });
  const before = await count();
  for (const query of [
    "order=id",
    "offset=0",
    "cursor=",
    "limit=5",
    "select=id",
    "__proto__=eq.1",
    "constructor=eq.1",
    "",
  ]) {
    for (const method of ["DELETE", "PATCH"]) {
      const body = method === "PATCH" ? { body: { tier: "X" } } : {};
      expect(
        (await service.request(method, `/api/players?${query}`, body)).status,
        `${method} ${query}`,
      ).toBe(400);
    }
  }
  expect(await count()).toBe(before);
  expect((await service.get("/api/players?tier=eq.X")).body).toEqual([]);
});

test("a write that is refused for being more than one row has changed nothing", async () => {
  await player({ player_id: "one-1", tier: "Two" });
  await player({ player_id: "one-2", tier: "Two" });
  const refused = await service.request("PATCH", "/api/players?tier=eq.Two", {
    body: { tier: "X" },
    headers: OBJECT,
  });
  expect(refused.status).toBe(406);
  expect((await service.get("/api/players?tier=eq.Two")).body).toHaveLength(2);
  const created = await service.post("/api/players", [{ player_id: "n1" }, { player_id: "n2" }], OBJECT);
  expect(created.status).toBe(406);
  expect((await service.get("/api/players?player_id=in.(n1,n2)")).body).toEqual([]);
});

test("of several records in one request the refused one is named, and none is stored", async () => {
  const good = { player_id: "several-0" };
  await player({ player_id: "several-taken" });
  for (const [bad, status, field] of [
    [{ adt: "much" }, 400, "[1].adt"],
    [{ email: "nobody" }, 400, "[1].email"],
    [{ no_such_field: 1 }, 400, "[1].no_such_field"],
    ["text", 400, undefined],
    [{ player_id: "several-taken" }, 409, undefined],
  ] as const) {
    const { body, ...answer } = await service.post("/api/players", [good, bad]);
    expect(answer.status, JSON.stringify(bad)).toBe(status);
    expect(body.error).toMatch(/^Record \[1\]: /);
    expect(body.details?.[0].field).toBe(field);
  }
  const changed = [good, { player_id: "several-taken", status: "erased" }];
  const merged = await service.post("/api/players", changed, { Prefer: "resolution=merge-duplicates" });
  expect(merged.body.details[0].field).toBe("[1].status");
  expect((await service.get("/api/players?player_id=eq.several-0")).body).toEqual([]);
});

test("a refusal stays small and quick however much is wrong, and says how much more is", async () => {
  const keys = (many: number, size = 0) =>
    Object.fromEntries(Array.from({ length: many }, (_, n) => [`${"k".repeat(size)}${n}`, 1]));
  const texts = (many: number) => Array.from({ length: many }, () => "x");
  const rows = Array.from({ length: 1_000 }, (_, n) => ({ [`u${n}`]: 1 }));
  const functions = "/api/functions";
  const large: [string, unknown][] = [
    ["/api/auth/login", keys(90_000)],
    ["/api/auth/login", { email: "x".repeat(900_000), password: "x" }],
    ["/api/auth/login", keys(1, 900_000)],
    ["/api/auth/login", keys(20, 40_000)],
    ["/api/players", { custom: keys(60_000) }],
    ["/api/players", rows],
    ["/api/players", { tags: texts(200_000).map(() => 1) }],
    ["/api/player_events", rows],
    ["/api/segments", { name: "S", type: "dynamic", conditions: texts(200_000) }],
    ["/api/import_jobs", { type: "player_import", rows }],
    [
      `${functions}/compliance-check`,
      { propertyId: service.tenant.id, channel: "sms", phones: texts(200_000) },
    ],
    [`${functions}/consent-record`, { propertyId: "x", ...keys(80_000) }],
    [`${functions}/create-api-key`, `${"[".repeat(500_000)}${"]".repeat(500_000)}`],
    ["/api/players", `{"custom":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`],
  ];
  for (const [path, body] of large) {
    const headers = path.startsWith("/api/auth") ? { "X-Api-Key": null } : {};
    const about = `${path} ${JSON.stringify(body).slice(0, 60)}`;
    let answer: Answer | undefined;
    const work = await workOf(async () => {
      answer = await service.post(path, body, headers);
    });
    const { status, text } = answer!;
    expect(work, about).toBeLessThan(2_000);
    expect(status, about).toBeGreaterThanOrEqual(400);
    expect(status, about).toBeLessThan(500);
    expect(text.length, about).toBeLessThan(30_000);
  }
  const { body } = await service.post("/api/auth/login", {
    email: "a@b.example",
    password: "x",
    ...keys(1_000),
  });
  expect(body.details).toHaveLength(21);
  expect(body.details.at(-1)).toEqual({ field: "body", message: "and 980 more problems" });
  expect(body.error).toContain("and 995 more");
});

test("an address with very many filters is answered or refused quickly", async () => {
  for (const part of ["a&", "a.eq=1&", "tier.eq=a&", "adt.gt=1&", "select=id&", "tier.in=(a,b)&"]) {
    const path = `/api/players?${part.repeat(Math.floor(14_000 / part.length)).slice(0, -1)}`;
    let answer: Answer | undefined;
    const work = await workOf(async () => {
      answer = await service.get(path);
    });
    const { status, text } = answer!;
    expect(work, part).toBeLessThan(2_000);
    expect(status, part).toBeLessThan(500);
    expect(text.length, part).toBeLessThan(30_000);
  }
});
