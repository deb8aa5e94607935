import { Server } from "@modelcontextprotocol/server";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Database } from "#db/database.ts";
import { mcpFace } from "#transports/mcp/endpoint.ts";
import { openStream } from "#transports/mcp/subscriptions/streams.ts";
import { scenarioIn } from "../../../support/scenario.ts";
import { startService, type Tenant, type TestService } from "../../../support/service.ts";
import { listen, META } from "./listener.ts";

let service: TestService;
let rival: Tenant;
beforeAll(async () => {
  service = await startService();
  rival = await service.newTenant();
});
afterAll(() => service?.stop());

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Nothing works on it. */
async function waitingJob(propertyId = service.tenant.id, of = service): Promise<string> {
  const [row] = await of.database.db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      insert into validation_jobs (property_id, params, status_url, result_url)
      values (${propertyId}, '{}', '', '') returning id`,
  );
  return row!.id;
}

const progress = (id: string, propertyId = service.tenant.id, of = service) =>
  of.database.db.asProperty(
    propertyId,
    (sql) => sql`
      update validation_jobs set processed = processed + 1, updated_at = statement_timestamp()
      where property_id = ${propertyId} and id = ${id}`,
  );

test("a listener to a job is told of each change of it, and of nobody else's", async () => {
  const [mine, other, foreign] = [await waitingJob(), await waitingJob(), await waitingJob(rival.id)];
  const asked = [`job://${mine}`, `job://${foreign}`, `campaign://${mine}`, "player://x", "docs://guide"];
  const stream = await listen(service, { resourceSubscriptions: asked });
  expect(stream.status).toBe(200);
  expect(stream.headers.get("x-accel-buffering")).toBe("no");
  expect(stream.headers.get("api-version")).toBe("2026-06-05");
  expect(await stream.next()).toEqual({
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: { resourceSubscriptions: [`job://${mine}`] }, _meta: { [SUBSCRIPTION]: 7 } },
  });
  await Promise.all([progress(other), progress(foreign, rival.id)]);
  for (const _ of [1, 2]) {
    await progress(mine);
    expect(await stream.next()).toMatchObject({
      method: "notifications/resources/updated",
      params: { uri: `job://${mine}`, _meta: { [SUBSCRIPTION]: 7 } },
    });
  }
  stream.leave();
});

test("a listener to a campaign is told that it is sent, and that it is gone", async () => {
  const scenario = scenarioIn(service);
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const [id, gone] = [await scenario.campaign(), await scenario.campaign()];
  const stream = await listen(service, {
    resourceSubscriptions: [`campaign://${id}`, `campaign://${gone}`],
    toolsListChanged: true,
  });
  expect((await stream.next())?.params?.notifications).toMatchObject({ toolsListChanged: true });
  await scenario.send(id);
  expect((await stream.next())?.params?.uri).toBe(`campaign://${id}`);
  await service.idle();
  await scenario.call("delete_campaign", { id: gone });
  await expect.poll(async () => (await stream.next())?.params?.uri).toBe(`campaign://${gone}`);
  stream.leave();
});

test("a listener to a proposal is told of the decision", async () => {
  const property = await service.newTenant({ approval_over_players: 0 });
  const scenario = scenarioIn(service, property.id);
  await scenario.player({ player_id: "ana", email: "ana@example.com" });
  const campaignId = await scenario.campaign();
  const headers = { "X-Api-Key": property.key };
  const body = { campaignId, propertyId: property.id };
  const answered = await service.post("/api/functions/send-campaign", body, headers);
  const [{ message: proposalId }] = answered.body.details;
  const uri = `proposal://${proposalId}`;
  const stream = await listen(service, { resourceSubscriptions: [uri] }, { key: property.key });
  expect((await stream.next())?.params?.notifications).toEqual({ resourceSubscriptions: [uri] });
  const withdrawal = { proposalId, propertyId: property.id };
  await service.post("/api/functions/withdraw-proposal", withdrawal, headers);
  expect((await stream.next())?.params?.uri).toBe(uri);
  stream.leave();
});

test("where nothing of what is asked for is the caller's, the stream ends at once", async () => {
  const foreign = await waitingJob(rival.id);
  const stream = await listen(service, { resourceSubscriptions: [`job://${foreign}`] });
  expect((await stream.next())?.params?.notifications).toEqual({});
  expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
  expect(await stream.next()).toBeNull();
});

test("a revoked key's stream ends, and is told nothing more", async () => {
  const id = await waitingJob();
  const made = await service.call("create_api_key", {
    property_id: service.tenant.id,
    name: "short",
    scopes: ["read"],
  });
  const stream = await listen(
    service,
    { resourceSubscriptions: [`job://${id}`], toolsListChanged: true },
    { key: made.api_key },
  );
  await stream.next();
  await service.call("revoke_api_key", { key_id: made.id });
  await progress(id);
  expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
  expect(await stream.next()).toBeNull();
});

test("a key that is revoked while the resources are looked at is not told of what they have become", async () => {
  const versions = new Set<string>();
  let revoke = async () => {};
  const looking = await startService(
    { role: "web" },
    {
      face: (given, catalog) => {
        const asProperty: Database["asProperty"] = async (property, work, options) => {
          const answer = await given.db.asProperty(property, work, options);
          for (const version of answer instanceof Map ? answer.values() : []) versions.add(version);
          if (versions.size > 1) await revoke();
          return answer;
        };
        return mcpFace({ ...given, db: { ...given.db, asProperty } }, catalog);
      },
    },
  );
  onTestFinished(() => looking.stop());
  const { id: propertyId } = looking.tenant;
  const job = await waitingJob(propertyId, looking);
  const made = await looking.call("create_api_key", {
    ...{ property_id: propertyId, name: "short", scopes: ["read"] },
  });
  const stream = await listen(looking, { resourceSubscriptions: [`job://${job}`] }, { key: made.api_key });
  await stream.next();
  const revoked = Promise.withResolvers<void>();
  revoke = async () => {
    revoke = async () => {};
    await looking.call("revoke_api_key", { key_id: made.id }).then(() => revoked.resolve(), revoked.reject);
  };
  await progress(job, propertyId, looking);
  await revoked.promise;
  expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
});

test("a key that is revoked before its stream opens is told nothing by a look that had begun", async () => {
  let paused: { kind: "versions" | "key"; reached: () => void; goOn: Promise<void> } | null = null;
  const pauseAt = (kind: "versions" | "key") => {
    const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    paused = { kind, reached: reached.resolve, goOn: goOn.promise };
    return { reached: reached.promise, goOn: goOn.resolve };
  };
  const pass = async (kind: "versions" | "key") => {
    if (paused?.kind !== kind) return;
    const { reached, goOn } = paused;
    paused = null;
    reached();
    await goOn;
  };
  const looking = await startService(
    { role: "web" },
    {
      face: (given, catalog) => {
        const asProperty: Database["asProperty"] = async (property, work, options) => {
          const answer = await given.db.asProperty(property, work, options);
          // Of the two of the second listener.
          if (answer instanceof Map && answer.size === 2) await pass("versions");
          return answer;
        };
        const key: typeof given.directory.key = async (hash) => {
          await pass("key");
          return given.directory.key(hash);
        };
        const [db, directory] = [
          { ...given.db, asProperty },
          { ...given.directory, key },
        ];
        return mcpFace({ ...given, db, directory }, catalog);
      },
    },
  );
  onTestFinished(() => looking.stop());
  const { id: propertyId } = looking.tenant;
  const [job, other] = [await waitingJob(propertyId, looking), await waitingJob(propertyId, looking)];
  const first = await listen(looking, { resourceSubscriptions: [`job://${job}`] });
  await first.next();
  const made = await looking.call("create_api_key", {
    ...{ property_id: propertyId, name: "short", scopes: ["read"] },
  });
  const opening = pauseAt("versions");
  const both = { resourceSubscriptions: [`job://${job}`, `job://${other}`] };
  const second = listen(looking, both, { key: made.api_key });
  await opening.reached;
  const noting = pauseAt("key");
  await looking.call("revoke_api_key", { key_id: made.id });
  await noting.reached;
  // The next look at credentials knows of the revocation already.
  const look = pauseAt("key");
  noting.goOn();
  const third = await listen(looking, { toolsListChanged: true });
  await look.reached;
  opening.goOn();
  const stream = await second;
  await stream.next();
  await progress(job, propertyId, looking);
  look.goOn();
  expect(await first.next()).toMatchObject({ params: { uri: `job://${job}` } });
  expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
  for (const { leave } of [first, third]) leave();
});

test("a user whose role changes is told that the lists have changed, and one without a role hears no more", async () => {
  const user = await service.signIn({ role: "analyst" });
  const headers = { Authorization: `Bearer ${user.token}` };
  const stream = await listen(service, { toolsListChanged: true, promptsListChanged: true }, { headers });
  await stream.next();
  const scenario = { property_id: service.tenant.id, user_id: user.id };
  await service.call("grant_membership", { ...scenario, role: "manager" });
  expect(await stream.next()).toMatchObject({ method: "notifications/tools/list_changed" });
  expect(await stream.next()).toMatchObject({ method: "notifications/prompts/list_changed" });
  stream.leave();

  const job = await waitingJob();
  const watching = await listen(service, { resourceSubscriptions: [`job://${job}`] }, { headers });
  await watching.next();
  await service.call("revoke_membership", scenario);
  await progress(job);
  expect(await watching.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
});

describe("refused is", () => {
  test("one stream more than a key may have, until another one is left", async () => {
    const { key } = await service.newTenant();
    const open = () => listen(service, { toolsListChanged: true }, { key });
    const streams = await Promise.all(Array.from({ length: 10 }, open));
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    const refused = await open();
    expect(refused).toMatchObject({ status: 429, error: { id: 7, error: { code: -32_000 } } });
    expect(refused.error?.error.message).toContain("10 open streams");
    expect((await listen(service, { toolsListChanged: true })).status).toBe(200);
    streams[0]!.leave();
    await expect.poll(async () => (await open()).status).toBe(200);
    for (const stream of streams) stream.leave();
  });

  test("a list of more than 100 resources, a filter that is none, and another revision", async () => {
    const many = Array.from({ length: 101 }, () => `job://${crypto.randomUUID()}`);
    expect(await listen(service, { resourceSubscriptions: many })).toMatchObject({
      status: 400,
      error: { id: 7, error: { code: -32_602 } },
    });
    expect((await listen(service, { resourceSubscriptions: "job://x" })).error?.error.code).toBe(-32_602);
    const old = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications: {} } };
    const { body } = await service.post("/api/mcp", old, {
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2025-11-25",
    });
    expect(body.error.code).toBe(-32_601);
  });

  test("a client that asks for tasks and does not say that it knows them", async () => {
    const taskIds = [crypto.randomUUID()];
    expect(await listen(service, { taskIds })).toMatchObject({
      status: 400,
      error: { id: 7, error: { code: -32_021 } },
    });
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const stream = await listen(service, { taskIds, toolsListChanged: true }, { capabilities });
    expect((await stream.next())?.params?.notifications).toEqual({ toolsListChanged: true });
    stream.leave();
  });
});

test("a service that stops ends its streams with an answer", async () => {
  const short = await startService({ role: "web" });
  const stream = await listen(short, { toolsListChanged: true });
  await stream.next();
  const stopped = short.stop();
  expect(await stream.next()).toMatchObject({ id: 7, result: { resultType: "complete" } });
  expect(await stream.next()).toBeNull();
  await stopped;
});

describe("a stream", () => {
  afterEach(() => void vi.useRealTimers());
  const params = { notifications: { toolsListChanged: true }, _meta: META };
  const open = (onEnd: () => void) =>
    openStream({
      request: new Request("http://127.0.0.1/api/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "subscriptions/listen",
        },
      }),
      body: { jsonrpc: "2.0", id: 7, method: "subscriptions/listen", params },
      makeServer: () =>
        new Server({ name: "s", version: "1" }, { capabilities: { tools: { listChanged: true } } }),
      onerror: () => {},
      onEnd,
    });

  test("whose reader does not keep up is cut off, and costs nothing more", async () => {
    const onEnd = vi.fn();
    const { bus, response } = await open(onEnd);
    for (let count = 0; count < 1_000; count += 1) bus!.publish({ kind: "tools_list_changed" });
    await expect.poll(() => onEnd.mock.calls.length).toBe(1);
    await expect(response.text()).rejects.toThrow("does not keep up");
  });

  test("is kept alive while nothing happens", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const onEnd = vi.fn();
    const reader = (await open(onEnd)).response.body!.getReader();
    await reader.read();
    vi.advanceTimersByTime(15_000);
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(": keep-alive\n\n");
    await reader.cancel();
    expect(onEnd).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});
