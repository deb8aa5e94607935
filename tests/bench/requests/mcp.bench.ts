import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { Hono } from "hono";
import { z } from "zod";
import type { Reader } from "#db/query/reader.ts";
import { readConfig } from "#runtime/config.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { createLog } from "#runtime/log.ts";
import { catalog } from "#runtime/operation/catalog.ts";
import type { Call } from "#runtime/operation/context.ts";
import { parseJson } from "#runtime/operation/input.ts";
import { type Operation, tool } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { answer, type Frame } from "#transports/http/answer.ts";
import { readBody, readJson } from "#transports/http/body.ts";
import { type McpFace, mcpFace } from "#transports/mcp/endpoint.ts";
import { type Figure, median, type Report } from "../support/figure.ts";

const TOOLS = 60;
const ROUNDS = 5;
const PROPERTY = "0195a1b2-0000-7000-8000-000000000001";
const RECORD = JSON.stringify({ id: PROPERTY, name: "Ann", tier: "Gold", adt: 12.5, note: "é".repeat(20) });

const fields = {
  campaignId: z.uuid().describe("From list_campaigns"),
  channel: z.enum(["email", "sms", "voice", "push"]).describe("How the players are reached."),
  name: z.string().max(200).optional().describe("What staff call it."),
  limit: z.int().min(1).max(1000).default(50).describe("How many rows to return."),
  at: z.iso.datetime({ offset: true }).optional().describe("When; now without it."),
};
const output = z.object({
  id: z.uuid(),
  name: z.string(),
  tier: z.string(),
  adt: z.number(),
  note: z.string(),
});

/** S18, in CPU microseconds a request: a tool call and a tool list against a server that is built anew, and against REST. */
export default async function bench(report: Report): Promise<void> {
  // Installs the light Response that the HTTP server answers with.
  getRequestListener(() => new Response());
  const operations = Array.from({ length: TOOLS }, (_, index) => operation(index));
  const service = benchService();
  const face = mcpFace(service, catalog([{ name: "bench", title: "Bench", tools: operations }]));
  const peer = createMcpHandler(() => rebuilt(service, operations), { legacy: "reject" });
  const input = { campaignId: PROPERTY, channel: "sms", limit: 5 };
  const callBody = message("tools/call", { name: "tool_7", arguments: input });
  const listBody = message("tools/list", {});
  const ours = (request: Request, text: string) => () =>
    face.handle(request, { call: CALL, frame: FRAME, parsedBody: parseJson(text) });
  const theirs = (request: Request, text: string) => async () =>
    (await peer.fetch(request, { parsedBody: parseJson(text) })).text();
  const calling = requestFor("tools/call", "tool_7");
  // All of them in one list, as on the other side.
  const listing = requestFor("tools/list", undefined, "?toolsets=all");
  await sameAnswer(ours(calling, callBody), theirs(calling, callBody));

  const call = await compare(ours(calling, callBody), { rebuilt: theirs(calling, callBody) });
  const list = await compare(ours(listing, listBody), { rebuilt: theirs(listing, listBody) });
  report(
    figure(
      "S18 tools/call vs McpServer per request",
      call.ours,
      call.rebuilt!,
      ">= 4x",
      (ratio) => ratio >= 4,
    ),
  );
  report(
    figure(
      "S18 tools/list vs McpServer per request",
      list.ours,
      list.rebuilt!,
      ">= 4x",
      (ratio) => ratio >= 4,
    ),
  );
  report(figure("S18 tools/list CPU", list.ours, 120, "<= 120 us", (ratio) => ratio >= 1));
  const wire = await overHttp(service, face, operations[7]!, { callBody, calling, input });
  report(
    figure("S18 tools/call vs REST, over HTTP", wire.mcp!, wire.rest!, ">= 0.22x", (ratio) => ratio >= 0.22),
  );
}

/** Server CPU a request, of the same operation by both faces; the load comes from another thread. */
async function overHttp(
  service: Service,
  face: McpFace,
  operation: Operation,
  { callBody, calling, input }: { callBody: string; calling: Request; input: object },
): Promise<Record<string, number>> {
  const app = new Hono();
  app.post("/mcp", (c) => face.handle(c.req.raw, { call: CALL, frame: FRAME }));
  app.post("/rest", async (c) => {
    const body = readJson(c.req.header("content-type") ?? null, await readBody(c.req.raw));
    const outcome = await invoke(service, operation, { ...CALL, transport: "rest" }, body);
    return answer(FRAME, outcome.status, outcome.body);
  });
  const server = createServer(getRequestListener(app.fetch));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const headers = Object.fromEntries([...calling.headers].filter(([name]) => name !== "host"));
  const load = {
    mcp: { url: `${base}/mcp`, headers, body: callBody },
    rest: {
      url: `${base}/rest`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(input),
    },
  };
  const worker = new Worker(LOAD, { eval: true });
  const figures: Record<string, number[]> = { mcp: [], rest: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, request] of Object.entries(load)) {
      const before = process.threadCpuUsage();
      worker.postMessage({ ...request, count: REQUESTS });
      const [wrong] = await once(worker, "message");
      if (wrong > 0) throw new Error(`the control moved: ${wrong} wrong answers of ${name}`);
      const { user, system } = process.threadCpuUsage(before);
      if (round > 0) figures[name]!.push((user + system) / REQUESTS);
    }
  }
  await worker.terminate();
  server.close();
  server.closeAllConnections();
  return Object.fromEntries(Object.entries(figures).map(([name, values]) => [name, median(values)]));
}

const REQUESTS = 3000;

/** Eight connections that ask one after another, and count the answers that are not the record. */
const LOAD = `
  const { parentPort } = require("node:worker_threads");
  const http = require("node:http");
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const ask = ({ url, headers, body }) => new Promise((resolve, reject) => {
    const request = http.request(url, { method: "POST", agent, headers: { ...headers, "content-length": Buffer.byteLength(body) } }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve(response.statusCode === 200 && Buffer.concat(chunks).includes('"tier":"Gold"')));
    });
    request.on("error", reject);
    request.end(body);
  });
  parentPort.on("message", async (job) => {
    let left = job.count;
    let wrong = 0;
    await Promise.all(Array.from({ length: 8 }, async () => {
      while (left-- > 0) if (!(await ask(job))) wrong += 1;
    }));
    parentPort.postMessage(wrong);
  });
`;

const CALL: Call = {
  actor: { type: "api_key", id: PROPERTY, propertyId: PROPERTY, scopes: ["read", "write"], rateLimit: 100 },
  transport: "mcp",
  requestId: "bench",
};
const FRAME: Frame = {
  requestId: "bench",
  version: "2026-06-05",
  allowance: { allowed: true, limit: 100, remaining: 99, reset: 0 },
  metadataUrl: "",
};

function operation(index: number): Operation {
  const made = tool({
    name: `tool_${index}`,
    title: `Tool ${index}`,
    description: `Reads record number ${index} of a campaign and returns what it is, without changing anything.`,
    scope: "read",
    effect: "read",
    input: fields,
    output,
    faults: [],
    handler: async () => JSON.parse(RECORD),
  });
  return { ...made, read: async () => ({ body: RECORD, rows: 1 }) };
}

/** Only what a read without a query touches: the figure is of the face, not of PostgreSQL. */
function benchService(): Service {
  const directory = { property: async () => ({ id: PROPERTY, name: "Bench" }) as Property };
  const config = readConfig({ APP_SECRET: "x".repeat(32) });
  return {
    directory,
    config,
    log: createLog("error"),
    reader: { of: () => ({}) } as unknown as Reader,
    wake: () => {},
  } as unknown as Service;
}

function rebuilt(service: Service, operations: Operation[]): McpServer {
  const server = new McpServer({ name: "peer", version: "1" });
  for (const one of operations) {
    const { title, description } = one;
    const about = { title, description, inputSchema: z.object(fields), outputSchema: output };
    server.registerTool(one.name, about, async (given) => {
      const outcome = await invoke(service, one, CALL, given);
      return {
        structuredContent: JSON.parse(outcome.body),
        content: [{ type: "text", text: `${title}: done.` }],
      };
    });
  }
  return server;
}

function message(method: string, params: object): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
}

function requestFor(method: string, name?: string, query = ""): Request {
  return new Request(`http://localhost/api/mcp${query}`, {
    method: "POST",
    headers: {
      host: "localhost",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(name && { "Mcp-Name": name }),
    },
  });
}

async function sameAnswer(ours: () => Promise<Response>, theirs: () => Promise<string>): Promise<void> {
  const read = (text: string) => JSON.stringify(JSON.parse(text).result?.structuredContent);
  const [one, other] = [read(await (await ours()).text()), read(await theirs())];
  if (one !== other || one !== RECORD) throw new Error(`the control moved: ${one} is not ${other}`);
}

/** Median CPU microseconds a run of each, in rounds that take turns. */
async function compare<Name extends string>(
  ours: () => Promise<unknown>,
  peers: Record<Name, () => Promise<unknown>>,
): Promise<Record<Name | "ours", number>> {
  const all = Object.entries({ ours, ...peers }) as [Name | "ours", () => Promise<unknown>][];
  const figures = new Map(all.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, run] of all) {
      const figure = await cpu(run);
      if (round > 0) figures.get(name)!.push(figure);
    }
  }
  return Object.fromEntries([...figures].map(([name, values]) => [name, median(values)])) as Record<
    Name | "ours",
    number
  >;
}

async function cpu(run: () => Promise<unknown>): Promise<number> {
  const until = performance.now() + 300;
  const before = process.cpuUsage();
  let runs = 0;
  while (performance.now() < until) {
    await run();
    runs += 1;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
}

function figure(
  name: string,
  ours: number,
  peer: number,
  goal: string,
  meets: (ratio: number) => boolean,
): Figure {
  const ratio = peer / ours;
  return { name, ours, peer, ratio, goal, met: meets(ratio) };
}
