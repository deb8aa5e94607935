import { randomUUID } from "node:crypto";
import { pino } from "pino";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { startService, type TestService } from "../../support/service.ts";

interface Line {
  level: number;
  requestId?: string;
  err?: { stack: string };
}

const lines: Line[] = [];
let service: TestService;
let owner: postgres.Sql;

beforeAll(async () => {
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  service = await startService({ role: "web" }, { log });
  owner = postgres(service.database.url, { max: 1, onnotice: () => {} });
});
afterEach(() => {
  lines.length = 0;
});
afterAll(async () => {
  await owner.end();
  await service.stop();
});

/** The answer of the service while one of its tables is away, an error without a code of its own. */
async function without<T>(table: string, work: () => Promise<T>): Promise<T> {
  await owner`alter table ${owner(table)} rename to misplaced`;
  try {
    return await work();
  } finally {
    await owner`alter table misplaced rename to ${owner(table)}`;
  }
}

const errors = () => lines.filter(({ level }) => level >= 50);
const oneFailure = (table: string, requestId: unknown = expect.any(String)) => [
  expect.objectContaining({
    requestId,
    err: expect.objectContaining({ stack: expect.stringContaining(`relation "${table}" does not exist`) }),
  }),
];
const asMine = () => ({ "X-Request-Id": `mine-${randomUUID()}` });

test("a failure within an operation is logged once, with its stack and the request's id", async () => {
  const headers = asMine();
  const answer = await without("players", () => service.post("/api/players", { tier: "Gold" }, headers));
  expect(answer.status).toBe(500);
  expect(errors()).toEqual(oneFailure("players", headers["X-Request-Id"]));
});

test("a failure before there is an operation is logged once: of a key that is looked up", async () => {
  const headers = { ...asMine(), "X-Api-Key": (await service.newTenant()).key };
  const answer = await without("api_keys", () => service.get("/api/players", headers));
  expect(answer.status).toBe(500);
  expect(errors()).toEqual(oneFailure("api_keys", headers["X-Request-Id"]));
});

test("a failure while a file arrives is logged once", async () => {
  const headers = { ...asMine(), "Content-Type": "text/csv" };
  const answer = await without("uploads", () => service.post("/api/import_jobs", "player_id\n1\n", headers));
  expect(answer.status).toBe(500);
  expect(errors()).toEqual(oneFailure("uploads", headers["X-Request-Id"]));
});

test("a failure behind the link of a message is logged once", async () => {
  const links = unsubscribeLinks(service.internals.config);
  const { pathname } = new URL(links(service.tenant.id, randomUUID()));
  const answer = await without("campaign_sends", () => fetch(`${service.baseUrl}${pathname}`));
  expect(answer.status).toBe(500);
  expect(errors()).toEqual(oneFailure("campaign_sends"));
});

test("a failure of a tool is logged once, and its result names the same request", async () => {
  const headers = { ...asMine(), Accept: "application/json, text/event-stream" };
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call" };
  const params = { name: "list_players", arguments: {} };
  const answer = await without("players", () => service.post("/api/mcp", { ...call, params }, headers));
  expect(answer.body.result.isError).toBe(true);
  expect(errors()).toEqual(oneFailure("players", headers["X-Request-Id"]));
});

test("a caller's own mistake is not logged", async () => {
  expect((await service.post("/api/players", { adt: "much" })).status).toBe(400);
  expect((await service.get(`/api/players/${randomUUID()}`)).status).toBe(404);
  expect((await service.get("/api/nowhere")).status).toBe(404);
  expect(lines).toEqual([]);
});
