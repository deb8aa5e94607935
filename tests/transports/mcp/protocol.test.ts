import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { raw } from "../../support/answers.ts";
import { type McpService, startMcp } from "./mcp-service.ts";

let service: McpService;
beforeAll(async () => {
  service = await startMcp();
  await service.addPlayers(service.home, 3);
});
afterAll(() => service.stop());

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function modernCall(method: string, params: object = {}, name?: string) {
  return {
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } },
    headers: {
      "X-Api-Key": service.key,
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(name && { "Mcp-Name": name }),
    } as Record<string, string>,
  };
}

const initialize = (protocolVersion: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "agent", version: "1" } },
});

describe.each(["2025-11-25", "2025-06-18", "2025-03-26"])("an agent that speaks %s", (revision) => {
  const headers = () => ({ "X-Api-Key": service.key, "MCP-Protocol-Version": revision });

  test("is answered in its own revision, as JSON, with a session id that says its name and opens nothing", async () => {
    const {
      status,
      json,
      headers: answered,
    } = await service.send(initialize(revision), { "X-Api-Key": service.key });
    expect(status).toBe(200);
    expect(json.result).toMatchObject({
      protocolVersion: revision,
      serverInfo: { name: "player-marketing" },
    });
    expect(answered.get("content-type")).toBe("application/json");
    expect(answered.get("mcp-session-id")).toMatch(/^plain\.[\w-]+\.[0-9a-f-]{36}$/);
    const ready = await service.send({ jsonrpc: "2.0", method: "notifications/initialized" }, headers());
    expect(ready).toMatchObject({ status: 202, json: null });
  });

  test("lists the tools and calls one", async () => {
    const list = await service.send({ jsonrpc: "2.0", id: 2, method: "tools/list" }, headers());
    expect(list.json.result.tools.map((tool: { name: string }) => tool.name)).toContain("list_players");
    const params = { name: "list_players", arguments: { limit: 2 } };
    const { json } = await service.send({ jsonrpc: "2.0", id: 3, method: "tools/call", params }, headers());
    expect(json).toMatchObject({ id: 3, result: { structuredContent: { page: { has_more: true } } } });
  });
});

test("an agent that asks for an old revision is offered the newest of those with a handshake", async () => {
  const { json } = await service.send(initialize("2024-11-05"), { "X-Api-Key": service.key });
  expect(json.result.protocolVersion).toBe("2025-11-25");
});

test("a batch of 2025-03-26 is answered whole", async () => {
  const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/list" }));
  const { json } = await service.send(batch, {
    "X-Api-Key": service.key,
    "MCP-Protocol-Version": "2025-03-26",
  });
  expect(json.map((one: { result: { tools: object[] } }) => one.result.tools.length > 3)).toEqual([
    true,
    true,
  ]);
});

test("a batch that cancels its own call is answered all the same", async () => {
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "list_players", arguments: {} },
  };
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  const { status } = await service.send([call, cancel], { "X-Api-Key": service.key });
  expect(status).toBe(200);
});

test("the SDK of yesterday connects, lists and calls", async () => {
  const client = await service.yesterdays(service.key);
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(5);
  const result = await client.callTool({ name: "list_players", arguments: { format: "items", limit: 1 } });
  expect(result.structuredContent).toMatchObject({ format: "items", items: [{ first_name: "Ann" }] });
});

test("the SDK of today connects, lists and calls without a handshake", async () => {
  const client = await service.modern(service.key);
  expect(client.getServerVersion()).toMatchObject({ name: "player-marketing" });
  expect(client.getInstructions()).toContain("Players, Campaigns");
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(5);
  const result = await client.callTool({ name: "list_players", arguments: {} });
  expect(result.structuredContent).toMatchObject({ format: "columns", page: { has_more: false } });
});

test("a list may be kept for five minutes by the one who asked", async () => {
  const { body, headers } = modernCall("tools/list");
  const { json, status } = await service.send(body, headers);
  expect(status).toBe(200);
  expect(json.result).toMatchObject({ ttlMs: 300_000, cacheScope: "private", resultType: "complete" });
  expect(json.result.tools.length).toBeGreaterThan(5);
});

test("every answer carries the version, the allowance and the request's id", async () => {
  const { body, headers } = modernCall("tools/list");
  const answers = [
    await service.send(body, { ...headers, "X-Request-Id": "mine" }),
    await service.send(body, { ...headers, "X-Request-Id": "mine" }, { method: "DELETE" }),
    await service.send("{", { ...headers, "X-Request-Id": "mine" }),
  ];
  for (const { headers: answered } of answers) {
    expect(answered.get("api-version")).toBe("2026-06-05");
    expect(answered.get("x-ratelimit-limit")).toBe("1000000");
    expect(answered.get("x-request-id")).toBe("mine");
  }
});

describe("a request that is not MCP is refused", () => {
  test.each(["GET", "DELETE", "PUT"])("%s is not allowed, and POST is named", async (method) => {
    const { status, headers } = await service.send(null, { "X-Api-Key": service.key }, { method });
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("POST");
  });

  test("without a key the answer says only where to look", async () => {
    const { status, headers, json } = await service.send(initialize("2025-11-25"));
    expect(status).toBe(401);
    expect(headers.get("www-authenticate")).toContain("resource_metadata=");
    expect(json.error).toBe("missing_credential");
  });

  test.each([
    ["http://evil.example", 403],
    ["null", 403],
    ["http://localhost:6274", 200],
    ["http://casino.example", 200],
  ])("a page of %s is answered %i", async (Origin, expected) => {
    const { body, headers } = modernCall("tools/list");
    expect((await service.send(body, { ...headers, Origin })).status).toBe(expected);
  });

  test("a name that somebody else's DNS points here is refused", async () => {
    const { body, headers } = modernCall("tools/list");
    const text = JSON.stringify(body);
    const statusFor = async (host: string) => {
      const lines = Object.entries({
        ...headers,
        Host: host,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "Content-Length": String(Buffer.byteLength(text)),
        Connection: "close",
      }).map(([name, value]) => `${name}: ${value}\r\n`);
      const answer = await raw(service.baseUrl, `POST /api/mcp HTTP/1.1\r\n${lines.join("")}\r\n${text}`);
      return Number(answer.split(" ")[1]);
    };
    expect(await statusFor("rebound.example")).toBe(403);
    expect(await statusFor("casino.example:8787")).toBe(200);
  });

  test("a body of more than a megabyte is too large", async () => {
    const { body, headers } = modernCall("tools/list", { padding: "x".repeat(1_100_000) });
    expect((await service.send(body, headers)).status).toBe(413);
  });

  test("a body that is not JSON is no message, and one that holds NUL is refused by its id", async () => {
    const { headers } = modernCall("tools/list");
    for (const text of ["{", "", "nonsense"]) {
      const { status, json } = await service.send(text, headers);
      expect([status, json]).toEqual([400, expect.objectContaining({ jsonrpc: "2.0", id: null })]);
      expect(json.error.code).toBe(-32700);
    }
    const { body } = modernCall("prompts/get", { name: "plan_campaign", arguments: { goal: "\u0000" } });
    const { status, json } = await service.send(body, headers);
    expect([status, json.id, json.error.code]).toEqual([400, body.id, -32602]);
    expect((await service.send(body, { ...headers, "content-type": "text/plain" })).status).toBe(415);
  });

  test.each([
    ['{"first_name":"half \\ud83d"}', "first_name"],
    ['{"first_name":"\\u0000"}', "first_name"],
    ['{"tier":1e999}', "tier"],
    ['{"__proto__":{"tier":"Gold"}}', "__proto__"],
    ['{"tags":[{"constructor":1}]}', "tags[0].constructor"],
  ])(
    "arguments that cannot be stored, %s, are an error of the tool that names the field",
    async (text, field) => {
      const { body, headers } = modernCall(
        "tools/call",
        { name: "create_player", arguments: "HERE" },
        "create_player",
      );
      const params = { name: "create_player", arguments: "HERE" };
      const yesterdays = { jsonrpc: "2.0", id: 9, method: "tools/call", params };
      for (const [message, sent] of [
        [body, headers],
        [yesterdays, { "X-Api-Key": service.key }],
      ] as const) {
        const { status, json } = await service.send(
          JSON.stringify(message).replace('"HERE"', () => text),
          sent,
        );
        expect([status, json.id, json.result?.isError], JSON.stringify(json)).toEqual([
          200,
          message.id,
          true,
        ]);
        expect(json.result.structuredContent).toMatchObject({ code: "invalid", details: [{ field }] });
      }
    },
  );

  test("an unknown revision is refused with the known ones", async () => {
    const { body, headers } = modernCall("tools/list");
    const params = { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": "2031-01-01" } };
    const future = await service.send(
      { ...body, params },
      { ...headers, "MCP-Protocol-Version": "2031-01-01" },
    );
    expect(future).toMatchObject({ status: 400, json: { error: { code: -32_022 } } });
    const plain = { jsonrpc: "2.0", id: 7, method: "tools/list" };
    const past = await service.send(plain, {
      "X-Api-Key": service.key,
      "MCP-Protocol-Version": "1999-01-01",
    });
    expect(past).toMatchObject({ status: 400, json: { id: 7, error: { code: -32_022 } } });
    expect(past.json.error.data.supported).toContain("2025-11-25");
  });

  test("headers that differ from the body are refused", async () => {
    const { body, headers } = modernCall(
      "tools/call",
      { name: "list_players", arguments: {} },
      "delete_player",
    );
    expect(await service.send(body, headers)).toMatchObject({
      status: 400,
      json: { error: { code: -32_020 } },
    });
    const list = modernCall("tools/list");
    const wrong = await service.send(list.body, { ...list.headers, "Mcp-Method": "tools/call" });
    expect(wrong).toMatchObject({ status: 400, json: { error: { code: -32_020 } } });
  });

  test.each(["players/steal", "tasks/list"])("the method %s is not found", async (method) => {
    const { body, headers } = modernCall(method);
    expect(await service.send(body, headers)).toMatchObject({
      status: 404,
      json: { error: { code: -32_601 } },
    });
  });
});

test("an agent that begins with the wrong words is told that its parameters are wrong", async () => {
  const begin = async (params: unknown) =>
    (
      await service.send(
        { jsonrpc: "2.0", id: 7, method: "initialize", params },
        { "X-Api-Key": service.key },
      )
    ).json;
  const client = { name: "c", version: "1" };
  for (const params of [
    undefined,
    {},
    { protocolVersion: 5, capabilities: {}, clientInfo: client },
    { protocolVersion: "2025-11-25", clientInfo: client },
    { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} },
  ]) {
    expect(await begin(params)).toMatchObject({ id: 7, error: { code: -32602 } });
  }
  const good = await begin({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo: client });
  expect(good.result).toMatchObject({ protocolVersion: "2025-11-25" });
});

test.each([
  ["resources/read", undefined, "params"],
  ["resources/read", { uri: 7 }, "params.uri"],
  ["prompts/get", {}, "params.name"],
  ["prompts/get", { name: "x", arguments: { a: 1 } }, "params.arguments.a"],
  ["completion/complete", { ref: { type: "ref/prompt", name: 1 } }, "params.ref"],
])("the request %s with the params %j is told which of them is wrong", async (method, params, field) => {
  const modern = modernCall(method, params);
  const answers = [
    await service.send({ jsonrpc: "2.0", id: 7, method, params }, { "X-Api-Key": service.key }),
    ...(params ? [await service.send(modern.body, modern.headers)] : []),
  ];
  for (const { json } of answers) {
    expect(json.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`Invalid ${method} request: ${field}: `),
    });
  }
});
