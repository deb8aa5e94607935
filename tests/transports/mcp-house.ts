import { randomUUIDv7 } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as YesterdaysClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as YesterdaysTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Hono } from "hono";
import { z } from "zod";
import { reader } from "#db/reader.ts";
import { type Catalog, catalog } from "#runtime/catalog.ts";
import { createOnly, readable, writable } from "#runtime/columns.ts";
import { readConfig } from "#runtime/config.ts";
import type { Scope } from "#runtime/context.ts";
import { openDirectory } from "#runtime/directory.ts";
import { Fault } from "#runtime/faults.ts";
import type { Service } from "#runtime/invoke.ts";
import { newApiKey } from "#runtime/keys.ts";
import { createLog } from "#runtime/log.ts";
import { type Operation, table, tool } from "#runtime/operation.ts";
import { rateLimiter } from "#runtime/rate-limit.ts";
import { openSessions } from "#runtime/sessions.ts";
import { answerFault } from "#transports/answer.ts";
import { callOf, pass } from "#transports/gate.ts";
import type { Http } from "#transports/guarded.ts";
import { mcpFace } from "#transports/mcp.ts";
import { testDatabase } from "../support/database.ts";

const players = table({
  name: "players",
  noun: "player",
  description: "The people of a property.",
  softDelete: true,
  core: ["list", "get", "create", "update", "delete"],
  columns: {
    player_id: createOnly(z.string().min(1).optional()),
    email: writable(z.email().nullable().optional()),
    first_name: writable(z.string().nullable().optional()),
    tier: writable(z.string().nullable().optional()),
    status: writable(z.enum(["active", "inactive"]).default("active")),
    tags: readable(z.array(z.string())),
  },
  beforeWrite: async (_, { verb, input }) =>
    verb === "create" ? { player_id: randomUUIDv7(), ...input } : input,
});

const setTier = tool({
  name: "set_player_tier",
  title: "Set a player's tier",
  description: "Moves one player to another loyalty tier.",
  scope: "write",
  effect: "change",
  property: "propertyId",
  input: {
    propertyId: z.uuid().describe("The property."),
    playerId: z.uuid().describe("From list_players"),
    tier: z.enum(["Silver", "Gold"]).describe("The new tier."),
  },
  output: z.object({ id: z.uuid(), tier: z.string(), property_id: z.uuid() }),
  faults: ["not_found"],
  async handler({ sql, property }, { playerId, tier }) {
    const [row] = await sql<{ id: string; tier: string; property_id: string }[]>`
      update players set tier = ${tier} where property_id = ${property.id} and id = ${playerId}
      returning id, tier, property_id`;
    if (!row)
      throw new Fault("not_found", { message: `No player with the id ${playerId} in this property.` });
    return row;
  },
});

const emailPlayers = tool({
  name: "email_players",
  title: "Email players",
  description: "Sends a newsletter to everyone.",
  scope: "write",
  effect: "contact",
  property: "propertyId",
  input: { propertyId: z.uuid() },
  output: z.object({ success: z.literal(true) }),
  faults: ["conflict"],
  handler: async () => {
    throw new Fault("conflict", { message: "A campaign is being sent already." });
  },
});

const renameProperty = tool({
  name: "rename_property",
  title: "Rename the property",
  description: "Gives the property another name.",
  scope: "write",
  effect: "change",
  access: "manager",
  input: { name: z.string() },
  output: z.object({ success: z.literal(true) }),
  faults: [],
  handler: async () => ({ success: true as const }),
});

const exportPlayers = tool({
  name: "export_players",
  title: "Export players",
  description: "All players as CSV text.",
  scope: "read",
  core: true,
  effect: "read",
  input: { rows: z.int().min(0).max(100_000) },
  output: z.string(),
  faults: [],
  handler: async (_, { rows }) => "id,email\n".repeat(rows),
});

/** The catalog that the tests of this face speak to. */
export function smallCatalog(): Catalog {
  return catalog([
    { name: "players", title: "Players", tables: [players], tools: [setTier, exportPlayers] },
    { name: "campaigns", title: "Campaigns", tools: [emailPlayers] },
    { name: "property", title: "Property", tools: [renameProperty] },
  ]);
}

/** A catalog of `count` more tools than the small one. */
export function largeCatalog(count: number): Catalog {
  const small = smallCatalog();
  const games = Array.from(
    { length: count },
    (_, index): Operation =>
      tool({
        name: `game_${index}`,
        title: `Play game ${index}`,
        description: `Draws once in game number ${index} and says what was won.`,
        scope: "read",
        effect: "read",
        input: {
          note: z.string().optional().describe("Written into the draw."),
          stake: z.int().min(1).max(9).default(1),
        },
        output: z.object({ game: z.int(), note: z.string().nullable() }),
        faults: [],
        handler: async (__, { note }) => ({ game: index, note: note ?? null }),
      }),
  );
  return catalog([...small.domains, { name: "games", title: "Games", tools: games }]);
}

/** A running MCP endpoint over a database of its own, with two properties. */
export async function startMcp(tools: Catalog = smallCatalog()) {
  const database = await testDatabase();
  const { db } = database;
  const log = createLog("silent");
  const config = readConfig({ APP_SECRET: "x".repeat(32), BASE_URL: "http://casino.example" });
  const directory = await openDirectory(db, log);
  const sessions = await openSessions(db, directory, config);
  const limiter = rateLimiter({ db, now: directory.now, log });
  const service: Service = { db, reader: reader(db), directory, sessions, config, log, wake: () => {} };
  const metadataUrl = "http://casino.example/metadata";
  const gate = { limiter, directory, sessions, log, metadataUrl, trustProxy: 0 };
  const face = mcpFace(service, tools);
  const app: Http = new Hono();
  app.all("/api/mcp", async (c) => {
    const { incoming } = c.env;
    const passage = await pass(gate, incoming);
    if (passage.fault) return answerFault(passage.frame, passage.fault);
    if (passage.actor.type === "anonymous")
      return answerFault(passage.frame, new Fault("missing_credential"));
    return face.handle(c.req.raw, { call: callOf(gate, incoming, passage, "mcp"), frame: passage.frame });
  });
  const server = createServer(getRequestListener(app.fetch as never));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/mcp`;
  const clients: { close(): Promise<void> }[] = [];

  const property = async (name: string) => {
    const [row] = await db.asSystem(
      (sql) => sql<{ id: string }[]>`
      insert into properties (name, slug) values (${name}, ${name.toLowerCase()}) returning id`,
    );
    return row!.id;
  };
  const key = async (propertyId: string, scopes: Scope[] = ["read", "write"]) => {
    const made = newApiKey();
    await db.asSystem(
      (sql) => sql`
      insert into api_keys (property_id, name, key_prefix, key_hash, scopes, rate_limit)
      values (${propertyId}, 'test', ${made.prefix}, ${made.hash}, ${scopes}::text[], 1000000)`,
    );
    return made.secret;
  };
  const home = await property("Home");

  return {
    url,
    db,
    service,
    face,
    home,
    rival: await property("Rival"),
    key: await key(home),
    makeKey: key,
    /** A client of the newest revision. */
    modern: async (secret: string, query = "", headers: Record<string, string> = {}) => {
      const client = new Client(
        { name: "agent-of-today", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      clients.push(client);
      const requestInit = { headers: { "X-Api-Key": secret, ...headers } };
      await client.connect(new StreamableHTTPClientTransport(new URL(url + query), { requestInit }));
      return client;
    },
    /** A client of the first generation's SDK. */
    yesterdays: async (secret: string, query = "") => {
      const client = new YesterdaysClient({ name: "agent-of-yesterday", version: "1.0.0" });
      clients.push(client);
      const requestInit = { headers: { "X-Api-Key": secret, "User-Agent": "agent-of-yesterday/1.0" } };
      await client.connect(new YesterdaysTransport(new URL(url + query), { requestInit }) as never);
      return client;
    },
    /** One HTTP request as it is; a body that is not text is sent as JSON. */
    send: async (
      body: unknown,
      headers: Record<string, string> = {},
      options: { method?: string; query?: string } = {},
    ) => {
      const method = options.method ?? "POST";
      const response = await fetch(url + (options.query ?? ""), {
        method,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        ...(method === "POST" && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, json: text ? JSON.parse(text) : null };
    },
    addPlayers: (propertyId: string, count: number, firstName = "Ann") =>
      db.asProperty(
        propertyId,
        (sql) => sql`
        insert into players (property_id, player_id, first_name)
        select ${propertyId}, 'p' || n || ${randomUUIDv7()}, ${firstName} from generate_series(1, ${count}::int) n`,
      ),
    stop: async () => {
      for (const client of clients) await client.close();
      await face.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await limiter.close();
      await directory.close();
      await database.drop();
    },
  };
}

export type McpHouse = Awaited<ReturnType<typeof startMcp>>;
