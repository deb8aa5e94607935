import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { catalog } from "#runtime/operation/catalog.ts";
import { tool } from "#runtime/operation/operation.ts";
import type { Deprecation } from "#runtime/versions.ts";
import templates from "#tools/templates/templates.table.ts";
import { openApi } from "#transports/openapi/document.ts";
import { overMcp } from "../../support/operation-calls.ts";
import { type Answer, startService, type TestService } from "../../support/service.ts";

const greet = (name: string) =>
  tool({
    name,
    title: "Greet a player",
    description: "Greets a player by a name.",
    scope: "read",
    effect: "read",
    input: {
      playerName: z.string().optional(),
      nickname: z.string().optional().describe("What friends say"),
    },
    output: z.object({ greeting: z.string(), shouted: z.string() }),
    faults: ["not_found"],
    async handler(_, { playerName, nickname }) {
      if (nickname === "nobody") throw new Fault("not_found");
      const greeting = `Hello ${playerName ?? nickname ?? "you"}`;
      return { greeting, shouted: greeting.toUpperCase() };
    },
  });
const [oldWay, newWay, loud] = [greet("greet_old"), greet("greet_new"), greet("greet_loud")];

const since = new Date("2026-01-01T00:00:00Z");
const later = new Date("2026-03-01T00:00:00Z");
const sunset = new Date("2027-01-01T00:00:00Z");
const DEPRECATED: Deprecation[] = [
  { operation: "greet_old", since: later, sunset, link: "https://docs.example/greet-old" },
  { operation: "greet_new", input: "playerName", since, link: "https://docs.example/player-name" },
  { operation: "greet_loud", output: "shouted", since, link: "https://docs.example/shouted" },
  { operation: "list_templates", output: "text", since, link: "https://docs.example/text" },
  { operation: "create_template", input: "subject", since, link: "https://docs.example/subject" },
];
const OURS = catalog(
  [{ name: "greetings", title: "Greetings", tools: [oldWay!, newWay!, loud!], tables: [templates] }],
  DEPRECATED,
);

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" }, { catalog: OURS });
});
afterAll(() => service?.stop());

const notices = ({ headers }: Answer) => ({
  deprecation: headers.get("Deprecation"),
  sunset: headers.get("Sunset"),
  link: headers.get("Link"),
});
const NONE = { deprecation: null, sunset: null, link: null };
const post = (name: string, body: unknown, headers?: Record<string, string | null>) =>
  service.post(`/api/functions/${name}`, body, headers);

describe("a deprecated operation", () => {
  test("says since when, until when and where to read, on its answers and on its refusals", async () => {
    const said = {
      deprecation: `@${later.getTime() / 1000}`,
      sunset: "Fri, 01 Jan 2027 00:00:00 GMT",
      link: '<https://docs.example/greet-old>; rel="deprecation"; type="text/html", <https://docs.example/greet-old>; rel="sunset"; type="text/html"',
    };
    const answers = {
      200: await post("greet-old", {}),
      400: await post("greet-old", { unknown: 1 }),
      401: await post("greet-old", {}, { "X-Api-Key": null }),
      404: await post("greet-old", { nickname: "nobody" }),
      415: await post("greet-old", "x", { "Content-Type": "text/plain" }),
    };
    for (const [status, answer] of Object.entries(answers)) {
      expect({ status: answer.status, ...notices(answer) }).toEqual({ status: Number(status), ...said });
    }
  });

  test("says nothing about its neighbor", async () => {
    expect(notices(await post("greet-new", { nickname: "Al" }))).toEqual(NONE);
    expect(notices(await service.get("/api/nothing"))).toEqual(NONE);
  });
});

describe("a deprecated field", () => {
  test("of the input is announced where it is given, in either casing, also on a refusal", async () => {
    const said = {
      deprecation: `@${since.getTime() / 1000}`,
      sunset: null,
      link: '<https://docs.example/player-name>; rel="deprecation"; type="text/html"',
    };
    expect(notices(await post("greet-new", { playerName: "Ann" }))).toEqual(said);
    expect(notices(await post("greet-new", { player_name: "Ann" }))).toEqual(said);
    const refused = await post("greet-new", { playerName: "Ann", nickname: "nobody" });
    expect({ status: refused.status, ...notices(refused) }).toEqual({ status: 404, ...said });
    expect(notices(await post("greet-new", {}))).toEqual(NONE);
  });

  test("of the output is announced where it is answered", async () => {
    expect(notices(await post("greet-loud", {})).deprecation).toBe(`@${since.getTime() / 1000}`);
    expect(notices(await service.get("/api/templates")).deprecation).toBe(`@${since.getTime() / 1000}`);
    expect(notices(await service.get("/api/templates?select=id,name"))).toEqual(NONE);
  });

  test("of one record of several is announced too", async () => {
    const both = [{ name: "a" }, { name: "b", subject: "old" }];
    expect(notices(await service.post("/api/templates", both)).deprecation).not.toBeNull();
    expect(notices(await service.post("/api/templates", { name: "c" }))).toEqual(NONE);
  });

  test("of a list is announced beside the link to its next page", async () => {
    await service.post("/api/templates", [{ name: "d" }, { name: "e" }]);
    const { link } = notices(await service.get("/api/templates?select=text&cursor=&limit=1"));
    expect(link).toContain('rel="deprecation"');
    expect(link).toContain('rel="next"');
  });
});

test("OpenAPI and the tools of agents mark what is deprecated, and nothing else", async () => {
  const { paths, components } = openApi(OURS, "http://127.0.0.1") as {
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
    paths: Record<string, any>;
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
    components: any;
  };
  const operation = (name: string) => paths[`/api/functions/${name}`].post;
  expect(operation("greet-old")).toMatchObject({ deprecated: true });
  expect(operation("greet-old").description).toContain("2027-01-01");
  expect(operation("greet-new")).not.toHaveProperty("deprecated");
  const input = operation("greet-new").requestBody.content["application/json"].schema.properties;
  expect(input.playerName).toMatchObject({ deprecated: true });
  expect(input.nickname).not.toHaveProperty("deprecated");
  const output = operation("greet-loud").responses[200].content["application/json"].schema.properties;
  expect(output.shouted).toMatchObject({ deprecated: true });
  expect(output.greeting).not.toHaveProperty("deprecated");
  expect(components.schemas.Template.properties.text).toMatchObject({ deprecated: true });

  const { body } = await service.post(
    "/api/mcp?toolsets=all",
    { jsonrpc: "2.0", id: 1, method: "tools/list" },
    { Accept: "application/json, text/event-stream" },
  );
  const tools = new Map<string, { description: string; inputSchema: { properties: Record<string, object> } }>(
    body.result.tools.map((one: { name: string }) => [one.name, one]),
  );
  expect(tools.get("greet_old")!.description).toContain("Deprecated since 2026-03-01");
  expect(tools.get("greet_new")!.description).not.toContain("Deprecated");
  expect(tools.get("greet_new")!.inputSchema.properties.playerName).toMatchObject({ deprecated: true });
  expect((await overMcp(service, oldWay!, {})).isError).toBe(false);
});

test("a deprecation of what is not there stops the start", () => {
  const domains = [{ name: "greetings", title: "Greetings", tools: [newWay!] }];
  const [first] = DEPRECATED;
  expect(() => catalog(domains, [first!])).toThrow("greet_old");
  expect(() => catalog(domains, [{ operation: "greet_new", input: "shoe", since, link: "" }])).toThrow(
    "shoe",
  );
});
