import { createHash, randomBytes, randomUUID } from "node:crypto";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tokensAtMost } from "#transports/mcp/answers/fit-to-tokens.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import { startService, type TestService } from "../../../support/service.ts";

const PLAYERS = 1_000;

let service: TestService;
let scenario: ReturnType<typeof scenarioIn>;

// Without a worker: what is queued stays queued.
beforeAll(async () => {
  service = await startService({ role: "web" });
  scenario = scenarioIn(service);
  await scenario.crowd(PLAYERS);
});
afterAll(() => service?.stop());

interface Told {
  isError: boolean;
  data: Record<string, unknown>;
  text: string;
  tokens: number;
}

async function call(name: string, input: object, query = ""): Promise<Told> {
  const { body } = await service.request("POST", `/api/mcp${query}`, {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } },
    headers: { Accept: "application/json, text/event-stream" },
  });
  const { isError, structuredContent, content } = body.result;
  return {
    isError: isError === true,
    data: structuredContent,
    text: content[0].text,
    tokens: countTokens(JSON.stringify({ structuredContent, content })),
  };
}

const random = (letters: string, length: number) =>
  Array.from(randomBytes(length), (byte) => letters[byte % letters.length]).join("");
const columns = (cell: () => string) =>
  JSON.stringify({ columns: ["id"], rows: Array.from({ length: 100 }, () => [cell()]) });

const SHAPES: [string, number, () => string][] = [
  ["ids", 1.5, randomUUID],
  ["hashes", 1.5, () => createHash("sha256").update(randomBytes(8)).digest("hex")],
  ["base64", 1.5, () => randomBytes(200).toString("base64")],
  ["times", 1.5, () => new Date(Math.random() * 2e12).toISOString()],
  ["numbers", 2, () => String(Math.random())],
  ["capitals and digits", 1.5, () => random("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 60)],
  ["letters at random", 1.5, () => random("abcdefghijklmnopqrstuvwxyz", 60)],
  ["marks at random", 1.5, () => random("!#$%&()*+,-./:;<=>?@[]^_{|}~", 40)],
  ["English", 3.5, () => "Dear guest, you are invited to a special evening at our casino with free play."],
  [
    "HTML",
    2.5,
    () => '<td style="padding:0 12px 4px;font-size:14px;color:#1a2b3c"><a href="https://x.example">',
  ],
  ["accents", 2.5, () => "Zażółć gęślą jaźń, drogi gościu: příšerně žluťoučký kůň"],
  ["Cyrillic", 6, () => "Уважаемый гость, приглашаем вас на особый вечер"],
  ["Chinese", 5, () => "我们尊敬的客人，欢迎来到我们的赌场，今晚有特别优惠。"],
  [
    "rare ideographs",
    3.5,
    () => String.fromCodePoint(...Array.from(randomBytes(40), (b) => 0x4e00 + b * 80)),
  ],
  ["emoji", 3.5, () => "🎰🎲🃏💰🥂👨‍👩‍👧‍👦🏳️‍🌈👩🏽‍💻"],
];

test.each(SHAPES)(
  "the bound on the tokens of %s holds, and is not above %d times what they are",
  (_, most, cell) => {
    const text = columns(cell);
    const tokens = countTokens(text);
    expect(tokensAtMost(text)).toBeGreaterThanOrEqual(tokens);
    expect(tokensAtMost(text)).toBeLessThanOrEqual(tokens * most);
  },
);

describe("a page that is longer than an agent is given", () => {
  test.each([
    ["ids alone", { select: "id" }, 500],
    ["ids, texts and times", {}, 50],
    ["objects", { format: "items" }, 20],
    ["a file's text", { format: "csv", select: "id,email,created_at" }, 100],
  ])("of %s is shortened, and goes on by its cursor", async (_, input, least) => {
    const { data, tokens, text } = await call("list_players", { limit: PLAYERS, ...input });
    expect(tokens).toBeLessThanOrEqual(20_000);
    expect(data).toMatchObject({
      page: { has_more: true, next_cursor: expect.any(String) },
      warnings: [expect.stringContaining("shortened")],
    });
    expect(data).not.toHaveProperty("shortened");
    expect(text).toContain("shortened");
    const shown = data.rows ?? data.items ?? String(data.csv).trim().split("\n").slice(1);
    expect((shown as unknown[]).length).toBeGreaterThan(least);
  });

  test.each([
    ["hashes", () => randomBytes(100).toString("hex")],
    ["base64", () => randomBytes(150).toString("base64")],
    ["ideographs and emoji", () => "贵宾🎰奖励".repeat(25)],
  ])("of players named in %s is shortened", async (_, name) => {
    const rows = Array.from({ length: 200 }, () => ({ player_id: randomUUID(), last_name: name() }));
    const made = await service.post("/api/players", rows, { Prefer: "return=minimal" });
    expect(made.status).toBe(201);
    const { data, tokens } = await call("list_players", { limit: 200, select: "id,player_id,last_name" });
    expect(tokens).toBeLessThanOrEqual(20_000);
    expect(tokens).toBeGreaterThan(4_000);
    expect((data.page as { has_more: boolean }).has_more).toBe(true);
  });
});

test("a page that fits is whole, and has nothing to warn of", async () => {
  const { data } = await call("list_players", { limit: 3 });
  expect(data).toMatchObject({ format: "columns", warnings: [] });
  expect(data.rows).toHaveLength(3);
});

test("a list as CSV is the text that REST gives, and is not given where names are masked", async () => {
  const names = 'A "quoted" name, and\na line';
  await service.post("/api/players", {
    player_id: "csv-1",
    first_name: names,
    tags: ["a", "b"],
    tier: "=1+1",
  });
  const asked = { filters: { "player_id.eq": "csv-1" }, select: "first_name,tier,adt,tags" };
  const { data } = await call("list_players", { ...asked, format: "csv" });
  const rest = await service.get("/api/players?player_id=eq.csv-1&select=first_name,tier,adt,tags", {
    Accept: "text/csv",
  });
  expect(data).toMatchObject({ format: "csv", csv: rest.text, page: { has_more: false }, warnings: [] });
  const masked = await call("list_players", { ...asked, format: "csv" }, "?pii=masked");
  expect(masked).toMatchObject({ isError: true, data: { code: "invalid" } });
  expect(JSON.stringify(masked)).not.toContain("quoted");
});

const mailOf = (tables: number) =>
  `<p>Dear {{ first_name }},</p>${'<table><tr><td style="padding:0 4px">Double points this weekend.</td></tr></table>'.repeat(tables)}`;
const MAIL = mailOf(1_000);

describe("a result that is no list", () => {
  test("is checked before it is sent: the samples of a long mail are shortened, and what is left out is said", async () => {
    const id = await scenario.campaign({ body_html: MAIL });
    const about = { campaignId: id, propertyId: service.tenant.id };
    const { body: rest } = await service.post("/api/functions/preflight-campaign", about);
    expect(rest.sample_renders[0].html.length).toBeGreaterThan(MAIL.length);
    expect(rest).not.toHaveProperty("shortened");
    for (const [name, input, at] of [
      ["preflight_campaign", {}, ""],
      ["send_campaign", { dry_run: true }, "preflight."],
    ] as const) {
      const { isError, data, text, tokens } = await call(name, { campaignId: id, ...input });
      expect(isError, text).toBe(false);
      expect(tokens).toBeLessThanOrEqual(20_000);
      const { sample_renders: samples, allowed } = (data.preflight ?? data) as {
        sample_renders: { html: string; text: string }[];
        allowed: number;
      };
      expect(allowed).toBeGreaterThanOrEqual(PLAYERS);
      const { fields, whole } = data.shortened as { fields: Record<string, unknown>[]; whole: string };
      const [html] = samples.map((sample) => sample.html);
      expect(html).toMatch(/^<!doctype html>/);
      expect(samples[0]!.text.startsWith("Dear Ana")).toBe(true);
      expect(fields).toContainEqual({
        field: `${at}sample_renders[0].html`,
        characters: rest.sample_renders[0].html.length,
        shown: html!.length - 1,
      });
      expect(whole).toContain(`POST /api/functions/${name.replace("_", "-")}`);
      expect(whole.includes("dry_run")).toBe(name === "send_campaign");
      expect(text).toContain("see shortened");
    }
  });

  test.each([
    ["one long mail", {}],
    [
      "ten long subjects, in letters of many tokens",
      {
        // Ten of the long mail would take a busy machine longer than a request may.
        body_html: mailOf(150),
        ab_test: {
          variants: Array.from({ length: 10 }, (_, at) => ({
            id: `v${at}`,
            subject: `${at}${"贵宾".repeat(240)}`,
          })),
          metric: "open",
        },
      },
    ],
  ])("tells a person all facts before they agree to %s, and what confirms it is whole", async (_, fields) => {
    const campaignId = await scenario.campaign({ body_html: MAIL, holdout_percent: 10, ...fields });
    const { data, text, tokens } = await call("send_campaign", { campaignId });
    expect(tokens).toBeLessThanOrEqual(20_000);
    for (const words of [text, String(data.message)]) {
      for (const fact of [
        "Send a campaign now: not done yet.",
        /One message of them: ".+"/,
        /Its text: ".*Dear/,
        /It would reach \d+ of \d+ players?\b/,
        /Provider: .+/,
        `send_campaign {"campaignId":"${campaignId}"}`,
        `confirm_token = ${data.confirm_token}`,
      ]) {
        expect(words).toMatch(fact);
      }
    }
    const { ab_test } = fields as { ab_test?: { variants: { id: string }[] } };
    for (const { id } of ab_test?.variants.slice(1) ?? []) expect(text).toContain(`the variant ${id}: "`);
    expect(text).toContain("see shortened");
    expect(data).toMatchObject({
      confirmation_required: true,
      shortened: { whole: expect.stringContaining("with dry_run = true") },
    });
    const sent = await call("send_campaign", { campaignId, confirm_token: data.confirm_token });
    expect(sent, sent.text).toMatchObject({
      isError: false,
      data: { success: true, campaign: { id: campaignId, status: "queued" } },
    });
    expect(sent.tokens).toBeLessThanOrEqual(400);
  });

  test("says that it was done, however long its answer is", async () => {
    const { data, isError, tokens } = await call("create_template", {
      name: "Long",
      subject: "Hello",
      html: MAIL,
    });
    expect({ isError, id: data.id, audit_id: data.audit_id }).toEqual({
      isError: false,
      id: expect.any(String),
      audit_id: expect.any(String),
    });
    // The agent has just written the mail itself.
    expect(tokens).toBeLessThanOrEqual(300);
    expect(data).not.toHaveProperty("html");
    const read = await call("get_template", { id: data.id });
    expect(read.data.shortened).toEqual({
      fields: [{ field: "html", characters: MAIL.length, shown: expect.any(Number) }],
      whole: expect.stringContaining("GET /api/templates/{id}"),
    });
    const page = await call("list_templates", {
      filters: { "id.eq": data.id },
      format: "items",
      detail: "full",
    });
    expect(page.tokens).toBeLessThanOrEqual(20_000);
    expect(page.data.shortened).toMatchObject({ fields: [{ field: "items[0].html" }] });
    expect((await service.get(`/api/templates/${data.id}`)).body.html).toBe(MAIL);
  });

  test("is a resource too", async () => {
    const id = await scenario.campaign({ body_html: MAIL });
    const { body } = await service.request("POST", "/api/mcp", {
      body: { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: `campaign://${id}` } },
      headers: { Accept: "application/json, text/event-stream" },
    });
    const { text } = body.result.contents[0];
    expect(countTokens(text)).toBeLessThanOrEqual(20_000);
    expect(JSON.parse(text)).toMatchObject({ id, shortened: { fields: [{ field: "body_html" }] } });
  });

  test("is an error of many parts, whose sentences stay short", async () => {
    const unknown = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`${index}${"🎰".repeat(99)}`, 1]),
    );
    const { data, isError, text, tokens } = await call("create_player", unknown);
    expect(isError).toBe(true);
    expect(tokens).toBeLessThanOrEqual(20_000);
    expect(data).toMatchObject({ code: "invalid" });
    expect(text.length).toBeLessThan(1_000);
  });
});

test("a file is given from its start in whole records, as many as an agent can hold", async () => {
  const { data, tokens } = await call("export_players", {});
  expect(tokens).toBeLessThanOrEqual(20_000);
  expect(tokens).toBeGreaterThan(5_000);
  expect(data).toMatchObject({ has_more: true });
  expect(data).not.toHaveProperty("shortened");
  const { text: all } = await service.post("/api/functions/export-players", {
    propertyId: service.tenant.id,
  });
  expect(all.startsWith(String(data.text)) && String(data.text).endsWith("\n")).toBe(true);
});
