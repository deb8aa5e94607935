import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalog } from "#runtime/operation/catalog.ts";
import { mcpClientConfig, mcpDiscovery, mcpServerCard } from "#transports/mcp/discovery.ts";
import { type McpService, startMcp } from "../mcp-service.ts";
import { largeCatalog, smallCatalog } from "../small-catalog.ts";

let service: McpService;
let large: McpService;
beforeAll(async () => {
  service = await startMcp();
  large = await startMcp(largeCatalog(60));
});
afterAll(() => Promise.all([service.stop(), large.stop()]));

async function toolsOf(key: string, query = "", headers: Record<string, string> = {}, from = service) {
  const client = await from.modern(key, query, headers);
  return (await client.listTools()).tools;
}
const namesOf = async (...asked: Parameters<typeof toolsOf>) =>
  (await toolsOf(...asked)).map(({ name }) => name);

const PLAYER_TOOLS = [
  "list_players",
  "get_player",
  "create_player",
  "update_player",
  "delete_player",
  "set_player_tier",
  "export_players",
];

describe("the list", () => {
  test("shows an API key what its property may do, and nothing of managers", async () => {
    expect(await namesOf(service.key)).toEqual([...PLAYER_TOOLS, "email_players"]);
  });

  test("shows a read-only key what reads", async () => {
    const key = await service.makeKey(service.home, ["read"]);
    expect(await namesOf(key)).toEqual(["list_players", "get_player", "export_players"]);
  });

  test("gives each tool a title, a description and all four hints", async () => {
    const tools = await toolsOf(service.key);
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    for (const tool of tools) {
      expect(tool.title, tool.name).toBeTruthy();
      expect(tool.description, tool.name).toBeTruthy();
    }
    const [read, create] = [hints.list_players, hints.create_player];
    expect(read).toMatchObject({
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(create).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: false });
    expect(hints.update_player).toMatchObject({
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: true,
    });
    expect(hints.delete_player).toMatchObject({
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    });
    expect(hints.email_players).toMatchObject({
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    });
  });

  test("leaves the tenant out of the arguments, and offers a key for retries to writes alone", async () => {
    const tools = new Map((await toolsOf(service.key)).map((tool) => [tool.name, tool]));
    const tier = tools.get("set_player_tier")!.inputSchema;
    expect(Object.keys(tier.properties!)).toEqual(["playerId", "tier", "idempotency_key"]);
    expect(tier.required).toEqual(["playerId", "tier"]);
    expect(tier.properties!.tier).toMatchObject({ enum: ["Silver", "Gold"], description: "The new tier." });
    expect(Object.keys(tools.get("get_player")!.inputSchema.properties!)).toEqual(["id"]);
    const list = tools.get("list_players")!.inputSchema.properties!;
    expect(list.format).toMatchObject({ enum: ["columns", "items", "csv"], default: "columns" });
    expect(list.limit).toMatchObject({ type: "integer" });
  });

  test("describes inputs and outputs in JSON Schema that compiles", async () => {
    const validator = new AjvJsonSchemaValidator();
    for (const tool of await toolsOf(service.key)) {
      expect(() => validator.getValidator(tool.inputSchema as never), tool.name).not.toThrow();
      expect(() => validator.getValidator(tool.outputSchema as never), tool.name).not.toThrow();
      expect(tool.inputSchema.type).toBe("object");
    }
  });
});

describe("a connection", () => {
  test.each([
    ["?toolsets=campaigns", {}, ["email_players"]],
    ["", { "X-MCP-Toolsets": "campaigns" }, ["email_players"]],
    ["?toolsets=players&read_only=true", {}, ["list_players", "get_player", "export_players"]],
    ["?toolsets=players", { "X-MCP-Readonly": "true" }, ["list_players", "get_player", "export_players"]],
    ["?exclude=email_players,delete_player", {}, PLAYER_TOOLS.filter((name) => name !== "delete_player")],
    [
      "?toolsets=players",
      { "X-MCP-Exclude-Tools": "delete_player" },
      PLAYER_TOOLS.filter((name) => name !== "delete_player"),
    ],
  ])("with %s %o shows what it asked for", async (query, headers, expected) => {
    expect(await namesOf(service.key, query, headers as Record<string, string>)).toEqual(expected);
  });

  test.each([
    ["?toolset=players", {}, "toolset"],
    ["?toolsets=plyers", {}, "players"],
    ["?toolsets=", {}, "toolsets"],
    ["?read_only=yes", {}, "true or false"],
    ["?exclude=nothing_like_it", {}, "nothing_like_it"],
    ["", { "X-MCP-Toolsets": "plyers" }, "campaigns"],
    ["", { "X-MCP-Readonly": "1" }, "true or false"],
    ["", { "X-MCP-Exclude-Tools": "nothing" }, "nothing"],
  ])("that misspells %s %o is told so", async (query, headers, told) => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const sent = await service.send(body, { "X-Api-Key": service.key, ...headers }, { query });
    expect(sent.status).toBe(400);
    expect(sent.json.error.message).toContain(told);
  });

  test("is refused what its options leave out", async () => {
    const client = await service.modern(service.key, "?read_only=true");
    const result = await client.callTool({ name: "delete_player", arguments: { id: service.home } });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { code: "forbidden", retryable: false },
    });
  });
});

describe("where there are more tools than an agent should read", () => {
  test("the list has the tools that are asked for most, and two tools reach the rest", async () => {
    const names = await namesOf(large.key, "", {}, large);
    expect(names).toEqual(["list_players", "get_player", "export_players", "search_tools", "call_tool"]);
    expect(await namesOf(large.key, "?toolsets=all", {}, large)).toHaveLength(68);
    expect(await namesOf(large.key, "?toolsets=games", {}, large)).toHaveLength(60);
  });

  test.each([
    ["set player tier", "set_player_tier"],
    ["send a newsletter", "email_players"],
    ["remove a customer", "delete_player"],
    ["download everybody as csv", "export_players"],
    ["game 17", "game_17"],
    ["register a new player", "create_player"],
  ])("a search for “%s” finds %s first", async (query, expected) => {
    const client = await large.modern(large.key);
    const result = await client.callTool({
      name: "search_tools",
      arguments: { query, include_schema: true },
    });
    const { tools } = result.structuredContent as { tools: { name: string; input_schema: object }[] };
    expect(tools[0]).toMatchObject({ name: expected, input_schema: { type: "object" } });
  });

  test("a tool that is not listed runs by its name, on the same path", async () => {
    const client = await large.modern(large.key);
    const call = (name: string, input: object) =>
      client.callTool({ name: "call_tool", arguments: { name, arguments: input } });
    expect((await call("game_7", { note: "n" })).structuredContent).toEqual({ game: 7, note: "n" });
    expect(await call("game_7", { stake: 99 })).toMatchObject({
      isError: true,
      structuredContent: { code: "invalid" },
    });
    expect((await call("game_99", {})).structuredContent).toMatchObject({
      code: "invalid",
      retryable: false,
    });
    expect((await call("rename_property", { name: "x" })).structuredContent).toMatchObject({
      code: "forbidden",
    });
  });

  test("a read-only key finds and runs only what reads, and is told so by the hints", async () => {
    const key = await large.makeKey(large.home, ["read"]);
    const client = await large.modern(key);
    const { tools } = await client.listTools();
    expect(tools.at(-1)).toMatchObject({ name: "call_tool", annotations: { readOnlyHint: true } });
    const found = await client.callTool({
      name: "search_tools",
      arguments: { query: "delete a player", limit: 15 },
    });
    const { tools: shown, not_permitted } = found.structuredContent as Record<string, unknown>;
    expect(JSON.stringify(shown)).not.toContain("delete_player");
    expect(not_permitted).toContainEqual({
      name: "delete_player",
      title: "Delete a player",
      needs: "the scope write",
    });
    expect(JSON.stringify(found.content)).toContain("delete_player, which needs the scope write");
    const input = { name: "delete_player", arguments: { id: large.home } };
    const refused = await client.callTool({ name: "call_tool", arguments: input });
    expect(refused).toMatchObject({ isError: true, structuredContent: { code: "insufficient_scope" } });
  });
});

test("a search tells which tools the connection's options leave out, and who may run a manager's tool", async () => {
  const client = await large.modern(large.key, "?read_only=true");
  const find = async (query: string) => {
    const { structuredContent } = await client.callTool({ name: "search_tools", arguments: { query } });
    return (structuredContent as { not_permitted: { name: string; needs: string }[] }).not_permitted;
  };
  expect(await find("delete a player")).toContainEqual(
    expect.objectContaining({
      name: "delete_player",
      needs: "another connection or key: the option read_only leaves it out of this one",
    }),
  );
  const refused = await client.callTool({ name: "delete_player", arguments: { id: large.home } });
  expect(JSON.stringify(refused.content)).toContain(
    "delete_player is not available on this connection: the option read_only leaves it out.",
  );
  expect(await find("rename property")).toContainEqual(
    expect.objectContaining({
      name: "rename_property",
      needs: "the scope write, as a signed-in admin or manager of the property",
    }),
  );
});

test("a catalog refuses two operations of one name", () => {
  const [players] = smallCatalog().domains;
  expect(() => catalog([players!, { ...players!, name: "again", tables: [] }])).toThrow("set_player_tier");
  expect(() => catalog([players!, { name: "players", title: "Again" }])).toThrow("players");
});

test("the documents name the endpoint, how to sign in, and the revisions", () => {
  const config = { baseUrl: "https://api.casino.example", siteUrl: "https://casino.example" };
  expect(mcpClientConfig(config.baseUrl, "pk_1")).toEqual({
    mcpServers: {
      "player-marketing": {
        type: "http",
        url: "https://api.casino.example/api/mcp",
        headers: { "X-Api-Key": "pk_1" },
      },
    },
  });
  expect(mcpDiscovery(config, smallCatalog())).toMatchObject({
    url: "https://api.casino.example/api/mcp",
    toolsets: [{ name: "players" }, { name: "campaigns" }, { name: "property" }],
    authentication: { api_key: { name: "X-Api-Key" } },
  });
  expect(mcpServerCard(config)).toMatchObject({
    name: "example.casino/player-marketing",
    remotes: [{ type: "streamable-http", url: "https://api.casino.example/api/mcp" }],
  });
});
