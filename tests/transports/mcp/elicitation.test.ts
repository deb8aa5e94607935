import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// A client asks its human itself, and sends what the human has answered. It may answer anything, at any time.

let service: TestService;
let scenario: Scenario;
let key: string;
let campaignId: string;
beforeAll(async () => {
  // Without a worker: a campaign that is queued stays queued.
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const keyOf = async (property_id: string): Promise<string> =>
  (await service.call("create_api_key", { property_id, name: "desk", rate_limit: 1_000_000 })).api_key;

beforeEach(async () => {
  scenario = await newScenario(service);
  await scenario.crowd(3);
  key = await keyOf(scenario.id);
  campaignId = await scenario.campaign();
});

type Fields = Record<string, unknown>;

const FORM = { elicitation: { form: {} } };
const YES = { action: "accept", content: { confirm: true } };

/** One tools/call on the wire of a client of the newest revision. */
async function wire(more: Fields, { name = "send_campaign", secret = key, can = FORM as object } = {}) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "desk", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": can,
  };
  const params = { name, arguments: { campaignId }, ...more, _meta };
  const { body } = await service.request("POST", "/api/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
    headers: {
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "tools/call",
      "Mcp-Name": name,
      "X-Api-Key": secret,
    },
  });
  return body.result ?? { isError: true, structuredContent: body.error };
}

const ask = async (): Promise<string> => {
  const { resultType, requestState } = await wire({});
  expect(resultType).toBe("input_required");
  return requestState;
};
const accept = (requestState: unknown, more: Fields = {}, by: Parameters<typeof wire>[1] = {}) =>
  wire({ inputResponses: { confirm: YES }, requestState, ...more }, by);
const status = async () => (await scenario.get(campaignId)).status;
const DONE = { structuredContent: { campaign: { status: "queued" } } };
const INVALID = { isError: true, structuredContent: { code: "invalid" } };

test("an answer is good for the question's own arguments, operation and credential alone", async () => {
  const requestState = await ask();
  const other = await scenario.campaign({ subject: "Nobody has read this" });
  expect(await accept(requestState, { arguments: { campaignId: other } })).toMatchObject(INVALID);
  expect(await accept(requestState, { arguments: { campaignId, idempotency_key: "k" } })).toMatchObject(DONE);
  const next = await scenario.campaign();
  campaignId = next;
  const again = await ask();
  const late = { campaign_id: next, segment_id: null, scheduled_at: "2036-01-01T00:00:00Z" };
  expect(await accept(again, { arguments: late }, { name: "schedule_campaign" })).toMatchObject(INVALID);
  expect(await accept(again, {}, { name: "delete_campaign" })).toMatchObject({ isError: true });
  expect(await accept(again, {}, { secret: await keyOf(scenario.id) })).toMatchObject(INVALID);
  const elsewhere = await service.newTenant();
  expect(await accept(again, {}, { secret: elsewhere.key })).toMatchObject({ isError: true });
  expect((await scenario.get(other)).status).toBe("draft");
  expect(await status()).toBe("draft");
  expect(await accept(again)).toMatchObject(DONE);
});

test.each<[string, Fields]>([
  ["a word in place of yes", { action: "accept", content: { confirm: "true" } }],
  ["a number", { action: "accept", content: { confirm: 1 } }],
  ["no content", { action: "accept" }],
  ["another field", { action: "accept", content: { ok: true } }],
  ["an unknown action", { action: "agree", content: { confirm: true } }],
])("does nothing by %s", async (_, confirm) => {
  const requestState = await ask();
  const told = await wire({ inputResponses: { confirm }, requestState });
  expect(told.structuredContent?.campaign).toBeUndefined();
  expect(await status()).toBe("draft");
});

test.each([undefined, "", "guessed", 5, null])(
  "does nothing by yes to no question of ours: %j",
  async (made) => {
    const told = await accept(made);
    expect(told.structuredContent?.campaign).toBeUndefined();
    expect(await status()).toBe("draft");
  },
);

test("twice, and many times at once, an answer acts once", async () => {
  const requestState = await ask();
  const told = await Promise.all(Array.from({ length: 6 }, () => accept(requestState)));
  expect(told.filter(({ isError }) => !isError)).toHaveLength(1);
  expect(await accept(requestState)).toMatchObject(INVALID);
});

test("two questions that are answered at once send one campaign once", async () => {
  const states = [await ask(), await ask(), await ask()];
  const told = await Promise.all(states.map((state) => accept(state)));
  expect(told.filter(({ structuredContent }) => structuredContent?.campaign)).toHaveLength(1);
  expect(await status()).toBe("queued");
});

test("too late, an answer acts no more", async () => {
  const requestState = await ask();
  await scenario.query(
    (sql) => sql`
      update agent_confirmations set expires_at = now() - interval '1 second' where property_id = ${scenario.id}`,
  );
  expect(await accept(requestState)).toMatchObject(INVALID);
  expect(await status()).toBe("draft");
});

test("after a change the human is asked again, by what there is now", async () => {
  const requestState = await ask();
  await scenario.call("update_campaign", { id: campaignId, subject: "Nobody has read this" });
  const again = await accept(requestState);
  expect(again.resultType).toBe("input_required");
  expect(JSON.stringify(again.inputRequests)).toContain("It has changed since that preview.");
  expect(JSON.stringify(again.inputRequests)).toContain("Nobody has read this");
  expect(await status()).toBe("draft");
  expect(await accept(again.requestState)).toMatchObject(DONE);
});

test("a question that was declined is no token either, for no client", async () => {
  const requestState = await ask();
  const told = await wire({ inputResponses: { confirm: { action: "decline" } }, requestState });
  expect(told.structuredContent.code).toBe("declined");
  const input = { arguments: { campaignId, confirm_token: requestState } };
  expect(await wire(input, { can: {} })).toMatchObject(INVALID);
  expect(await status()).toBe("draft");
});
