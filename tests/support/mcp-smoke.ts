import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** Drives a started service through the official client of each generation: `KEY=pk_… node mcp-smoke.ts <address>`. */
const url = new URL("/api/mcp", process.argv[2]);
const requestInit = { headers: { "X-Api-Key": process.env.KEY ?? "" } };
const preview = {
  name: "segment_preview",
  arguments: { conditions: [{ field: "tier", operator: "eq", value: "Gold" }] },
};

const client = new Client({ name: "smoke", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
report("client 2", (await client.listTools()).tools.length, await client.callTool(preview));
await client.close();

const old = new OldClient({ name: "smoke", version: "1.0.0" });
await old.connect(new OldTransport(url, { requestInit }) as never);
report("client 1", (await old.listTools()).tools.length, await old.callTool(preview));
await old.close();

function report(name: string, tools: number, result: object): void {
  const { isError, structuredContent } = result as {
    isError?: unknown;
    structuredContent?: { count?: number };
  };
  if (isError || !structuredContent?.count) throw new Error(`${name}: ${JSON.stringify(result)}`);
  process.stdout.write(`${name}: ${tools} tools listed, ${structuredContent.count} Gold players counted\n`);
}
