import { randomUUIDv7 } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as YesterdaysClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as YesterdaysTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Scope } from "#runtime/operation/context.ts";
import { startService } from "../../support/service.ts";
import { smallCatalog } from "./small-catalog.ts";

export type McpService = Awaited<ReturnType<typeof startMcp>>;

/** A service with a catalog of its own, two properties, and clients of both generations. */
export async function startMcp(tools: Catalog = smallCatalog()) {
  const service = await startService({ role: "web", baseUrl: "http://casino.example" }, { catalog: tools });
  const { db } = service.internals;
  const url = `${service.baseUrl}/api/mcp`;
  const clients: { close(): Promise<void> }[] = [];
  const rival = await service.newTenant();
  return {
    ...service,
    url,
    db,
    home: service.tenant.id,
    rival: rival.id,
    key: service.tenant.key,
    makeKey: async (propertyId: string, scopes: Scope[] = ["read", "write"]): Promise<string> => {
      const settings = { property_id: propertyId, name: "test", scopes, rate_limit: 1_000_000 };
      return (await service.call("create_api_key", settings)).api_key;
    },
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
    yesterdays: async (secret: string, query = "", headers: Record<string, string> = {}) => {
      const client = new YesterdaysClient({ name: "agent-of-yesterday", version: "1.0.0" });
      clients.push(client);
      const requestInit = { headers: { "X-Api-Key": secret, ...headers } };
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
        select ${propertyId}, 'p' || n || ${randomUUIDv7()}, ${firstName} from generate_series(1, ${count}::int) n returning 1`,
      ),
    stop: async () => {
      for (const client of clients) await client.close();
      await service.stop();
    },
  };
}
