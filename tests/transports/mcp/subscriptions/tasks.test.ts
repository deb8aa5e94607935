import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scenarioIn } from "../../../support/scenario.ts";
import { startService, type Tenant, type TestService } from "../../../support/service.ts";

const EXTENSION = "io.modelcontextprotocol/tasks";

/** Nothing works in the first: what is queued stays so. The second works. */
let waiting: TestService;
let working: TestService;
let rival: Tenant;
beforeAll(async () => {
  [waiting, working] = await Promise.all([startService({ role: "web" }), startService()]);
  rival = await waiting.newTenant();
});
afterAll(async () => {
  await Promise.all([waiting?.stop(), working?.stop()]);
});

interface Options {
  key?: string;
  /** The client's own description. */
  knows?: boolean;
  name?: string;
  query?: string;
}

async function ask(service: TestService, method: string, params: object, options: Options = {}) {
  const { key = service.tenant.key, knows = true, query = "" } = options;
  const named = params as { taskId?: string; name?: string };
  const response = await fetch(`${service.baseUrl}/api/mcp${query}`, {
    method: "POST",
    headers: {
      "X-Api-Key": key,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...((named.taskId ?? named.name) && { "Mcp-Name": (named.taskId ?? named.name)! }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": knows ? { extensions: { [EXTENSION]: {} } } : {},
        },
      },
    }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  return { status: response.status, ...((await response.json()) as { result?: any; error?: any }) };
}

const start = (service: TestService, options?: Options) =>
  ask(
    service,
    "tools/call",
    { name: "create_import_job", arguments: { rows: [{ player_id: "p1", first_name: "Ann" }] } },
    options,
  );

test("an agent that knows tasks is given one for an import, and the import's answer when it is done", async () => {
  const { result } = await start(working);
  expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: expect.any(Number) });
  expect(result).not.toHaveProperty("structuredContent");
  const { taskId } = result;
  const now = async () => (await ask(working, "tasks/get", { taskId })).result;
  await expect.poll(async () => (await now()).status).toBe("completed");
  const done = await now();
  expect(done).toMatchObject({ resultType: "complete", taskId, createdAt: result.createdAt });
  const { body } = await working.get(`/api/import_jobs/${taskId}`);
  expect(done.result.structuredContent).toEqual(body);
  expect(body).toMatchObject({ status: "completed", created_count: 1 });
  expect(done.result.isError).toBeUndefined();
});

test("an agent that does not know tasks is answered with the job, as ever", async () => {
  const { result } = await start(waiting, { knows: false });
  expect(result).toMatchObject({ resultType: "complete", structuredContent: { status: "queued" } });
  expect(result).not.toHaveProperty("taskId");
});

test("a validation becomes a task behind call_tool too, and a refused call none", async () => {
  const call = (input: object) =>
    ask(waiting, "tools/call", {
      name: "call_tool",
      arguments: { name: "create_validation_job", arguments: input },
    });
  const { result } = await call({ emails: ["a@example.com"] });
  expect(result).toMatchObject({ resultType: "task", status: "working" });
  expect((await ask(waiting, "tasks/get", { taskId: result.taskId })).result.status).toBe("working");
  expect((await call({})).result).toMatchObject({ resultType: "complete", isError: true });
});

test("a campaign is a task from its sending on, until it is sent", async () => {
  const scenario = scenarioIn(working, working.tenant.id);
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const html = `<p>${"Double points this weekend. ".repeat(5_000)}</p>`;
  const id = await scenario.campaign({ body_html: html });
  const now = () => ask(working, "tasks/get", { taskId: id });
  expect((await now()).error.code).toBe(-32_602);
  await scenario.send(id);
  expect((await now()).result).toMatchObject({ taskId: id, ttlMs: null });
  await working.idle();
  expect((await now()).result).toMatchObject({
    status: "completed",
    result: {
      structuredContent: {
        success: true,
        campaign: { id, status: "sent" },
        shortened: { fields: [{ field: "campaign.body_html", characters: html.length }] },
      },
    },
  });
});

test("a failed call is a completed task whose result is an error", async () => {
  const { taskId } = (await start(waiting)).result;
  await waiting.database.db.asProperty(
    waiting.tenant.id,
    (sql) => sql`
      update import_jobs set status = 'failed', error = 'The file is no CSV.'
      where property_id = ${waiting.tenant.id} and id = ${taskId}`,
  );
  const { result } = await ask(waiting, "tasks/get", { taskId });
  expect(result).toMatchObject({ status: "completed", statusMessage: "failed", result: { isError: true } });
  expect(result.result.content[0].text).toContain("The file is no CSV.");
});

describe("a task is ended", () => {
  test("by its agent: the job is cancelled, and a second time changes nothing", async () => {
    const { taskId } = (await start(waiting)).result;
    expect((await ask(waiting, "tasks/update", { taskId, inputResponses: {} })).result).toMatchObject({
      resultType: "complete",
    });
    for (const _ of [1, 2]) {
      const { result } = await ask(waiting, "tasks/cancel", { taskId });
      expect(result).toMatchObject({ resultType: "complete" });
    }
    expect((await ask(waiting, "tasks/get", { taskId })).result).toMatchObject({ status: "cancelled" });
    const { body } = await waiting.get(`/api/import_jobs/${taskId}`);
    expect(body).toMatchObject({ status: "failed", error: "cancelled" });
    const { body: audited } = await waiting.get(
      `/api/audit_logs?entity_id.eq=${taskId}&action.eq=delete_import_job`,
    );
    expect(audited).toHaveLength(1);
  });

  test("not with a key that only reads, and not where the connection leaves the tool out", async () => {
    const { taskId } = (await start(waiting)).result;
    for (const options of [{ key: waiting.tenant.readKey }, { query: "?exclude=delete_import_job" }]) {
      const { error } = await ask(waiting, "tasks/cancel", { taskId }, options);
      expect(error).toMatchObject({ code: -32_602, data: { code: "forbidden" } });
    }
    expect((await ask(waiting, "tasks/get", { taskId })).result.status).toBe("working");
  });
});

test.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "%s refuses a task of another property, an unknown task, and an agent that has not said it knows tasks",
  async (method) => {
    const { taskId } = (await start(waiting)).result;
    const params = { taskId, ...(method === "tasks/update" && { inputResponses: {} }) };
    expect((await ask(waiting, method, params, { key: rival.key })).error.code).toBe(-32_602);
    for (const none of ["nothing", crypto.randomUUID(), `${taskId}'--`]) {
      expect((await ask(waiting, method, { ...params, taskId: none })).error.code).toBe(-32_602);
    }
    expect(await ask(waiting, method, params, { knows: false })).toMatchObject({
      status: 400,
      error: { code: -32_021, data: { requiredCapabilities: { extensions: { [EXTENSION]: {} } } } },
    });
    expect((await ask(waiting, "tasks/get", { taskId })).result.status).toBe("working");
  },
);

test("earlier revisions know nothing of it", async () => {
  const { body } = await waiting.post(
    "/api/mcp",
    { jsonrpc: "2.0", id: 1, method: "tasks/get", params: { taskId: "x" } },
    { Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25" },
  );
  expect(body.error.code).toBe(-32_601);
});
