import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { overMcp } from "../../../support/operation-calls.ts";
import { startService, type TestService } from "../../../support/service.ts";

const PERSON = { first_name: "Zelda", email: "zelda.q@mailbox.example", birth_date: "1980-05-06" };
const getPlayer = CATALOG.operations.get("get_player")!;
const exportPlayers = CATALOG.operations.get("export_players")!;

let service: TestService;
let id: string;
let masked: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  id = (await service.post("/api/players", PERSON)).body.id;
  masked = { "X-Api-Key": await keyWith({ pii_masked: true }) };
});
afterAll(() => service?.stop());

const keyWith = async (settings: object) =>
  (await service.call("create_api_key", { property_id: service.tenant.id, name: "agent", ...settings }))
    .api_key as string;
const mcp = (query: string, headers: Record<string, string>) =>
  service.request("POST", `/api/mcp${query}`, {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_player", arguments: { id } } },
    headers: { Accept: "application/json, text/event-stream", ...headers },
  });

test("a key that was made so shows its agent no whole address, name or birth date", async () => {
  const { data } = await overMcp(service, getPlayer, { id }, masked);
  expect(data).toMatchObject({
    first_name: "Z•••",
    email: "z***@m***.example",
    birth_date: "1980-••-••",
  });
  const asked = await mcp("?pii=masked", masked);
  expect(asked.text).not.toContain("Zelda");
  expect(await overMcp(service, exportPlayers, {}, masked)).toMatchObject({
    isError: true,
    data: { message: expect.stringContaining("the masking of personal data leaves it out") },
  });
  const player = { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: `player://${id}` } };
  const read = await service.request("POST", "/api/mcp", {
    body: player,
    headers: { Accept: "application/json, text/event-stream", ...masked },
  });
  expect(read.text).toContain("Z•••");
  expect(read.text).not.toContain("zelda.q");
});

test("its agent cannot ask for more than the key shows", async () => {
  const refused = await mcp("?pii=full", masked);
  expect([refused.status, refused.body.error.data.code]).toEqual([403, "forbidden"]);
  const byHeader = await mcp("", { ...masked, "X-MCP-PII": "full" });
  expect(byHeader.status).toBe(403);
  expect(refused.text + byHeader.text).not.toContain("Zelda");
});

test("its agent cannot guess a masked value letter by letter, by filters or by the order of a list", async () => {
  const list = CATALOG.operations.get("list_players")!;
  for (const input of [
    { filters: { "email.like": "z*" } },
    { filters: { first_name: "gt.Y" } },
    { order: "birth_date.asc" },
  ]) {
    expect((await overMcp(service, list, input)).isError, JSON.stringify(input)).toBe(false);
    const { isError, data } = await overMcp(service, list, input, masked);
    expect([isError, data.message]).toEqual([true, expect.stringContaining("is masked for you")]);
  }
  const whole = await overMcp(service, list, { filters: { "email.eq": PERSON.email } }, masked);
  expect(JSON.stringify(whole.data)).toContain(id);
});

test("programs get the whole record by it, and any other key shows it to agents too", async () => {
  expect((await service.get(`/api/players/${id}`, masked)).body).toMatchObject(PERSON);
  for (const query of ["", "?pii=full"]) {
    expect((await mcp(query, {})).body.result.structuredContent).toMatchObject(PERSON);
  }
});

test("the setting is part of the key's metadata, and off unless it is given", async () => {
  const { keys } = await service.call("list_api_keys", { property_id: service.tenant.id });
  const settings = Object.fromEntries(
    keys.map(({ name, pii_masked }: { name: string; pii_masked: boolean }) => [name, pii_masked]),
  );
  expect(settings).toEqual({ test: false, agent: true });
});

test("cells of files are masked under all names of columns, in errors and in looks into a file", async () => {
  const written = {
    player_id: "DE1",
    Vorname: "Zelda",
    email: "zelda at mailbox",
    Notiz: "Zelda Quill called",
  };
  const { body } = await service.post("/api/import_jobs", { rows: [written] });
  await service.idle();
  const errors = CATALOG.operations.get("list_import_errors")!;
  for (const format of ["columns", "items"]) {
    const { data } = await overMcp(service, errors, { id: body.id, format }, masked);
    const text = JSON.stringify(data);
    expect(text).toContain("DE1");
    expect(text).not.toMatch(/zelda|Quill/i);
  }
  const link = await service.call("create_upload_link", { propertyId: service.tenant.id }, service.tenant.id);
  const csv = "player_id,Vorname,email\nDE2,Zelda,zelda.q@mailbox.example\n";
  expect(
    (await fetch(service.baseUrl + new URL(link.url).pathname, { method: link.method ?? "PUT", body: csv }))
      .status,
  ).toBe(201);
  const look = CATALOG.operations.get("read_import_file")!;
  const { data } = await overMcp(service, look, { upload_id: link.upload_id }, masked);
  const columns = data.columns as { examples: string[] }[];
  expect(columns.map(({ examples }) => examples)).toEqual([["DE2"], ["•••"], ["z***@m***.example"]]);
});

test("a masked value that is written back is refused, and nothing is lost by it", async () => {
  const read = (await overMcp(service, getPlayer, { id }, masked)).data as typeof PERSON;
  const update = CATALOG.operations.get("update_player")!;
  const { first_name, email, birth_date } = read;
  for (const [field, input] of [
    ["first_name", { first_name }],
    ["email", { email }],
    ["birth_date", { birth_date }],
    ["custom.host", { custom: { host: "•••" } }],
  ] as const) {
    const { isError, data } = await overMcp(service, update, { id, ...input }, masked);
    expect([field, isError, data.message]).toEqual([
      field,
      true,
      expect.stringContaining(`${field}: is what you`),
    ]);
  }
  expect((await overMcp(service, update, { id, tier: "Gold" }, masked)).isError).toBe(false);
  expect((await service.get(`/api/players/${id}`)).body).toMatchObject({ ...PERSON, tier: "Gold" });
});
