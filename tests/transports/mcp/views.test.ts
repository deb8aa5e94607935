import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { EXTENSION_ID, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/server";
import { Client as YesterdaysClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as YesterdaysTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { html } from "hono/html";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { render, type Stats } from "#transports/console/views/campaign_stats.js";
import type { Reader } from "#transports/console/views/parts.js";
import { speechOf } from "#transports/console/views/speech.js";
import { packed, unpacked } from "#transports/console/views/words.js";
import { english } from "#transports/console/words/english/english.ts";
import { isFull } from "../../support/proof-size.ts";
import { type Scenario, scenarioIn } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";
import { openBrowser, picture, violations } from "../pages/browser.ts";

const SHOWS = { extensions: { [EXTENSION_ID]: { mimeTypes: [RESOURCE_MIME_TYPE] } } };
const NAMES = [
  "campaign_stats",
  "journey_report",
  "preflight_campaign",
  "segment_preview",
  "simulate_journey",
] as const;
type Name = (typeof NAMES)[number];

const browser: Browser | null = await openBrowser();
let service: TestService;
let scenario: Scenario;
let inputs: Record<Name, object>;

beforeAll(async () => {
  service = await startService();
  scenario = scenarioIn(service);
  await scenario.player({ player_id: "<b>stored</b>", email: "ana@example.com", first_name: "<img src=x>" });
  await scenario.crowd(3);
  const propertyId = service.tenant.id;
  const recipe = { propertyId, settings: { recipe: "welcome" }, name: "Welcome" };
  const { journey } = await scenario.call("create_journey_from_recipe", recipe);
  await scenario.call("publish_journey", { journeyId: journey.id, propertyId });
  const sent = await scenario.campaign({ name: "Sent" });
  await scenario.send(sent);
  await service.idle();
  const rules = [{ field: "email", operator: "is_set" }];
  const { id: segmentId } = await scenario.call("create_segment", { name: "All", conditions: rules });
  inputs = {
    campaign_stats: { campaignId: sent },
    journey_report: { journeyId: journey.id },
    preflight_campaign: { campaignId: await scenario.campaign({ name: "Draft" }) },
    segment_preview: { segmentId },
    simulate_journey: { journeyId: journey.id, segmentId, days: 5 },
  };
});
afterAll(async () => {
  await service?.stop();
});

test("the view of a campaign of calls has the figures of calls, and no opens and clicks", async () => {
  const stats = await scenario.stats(
    await scenario.campaign({ name: "Calls", channel: "voice", subject: null, body_html: null }),
  );
  const reader: Reader = { ...speechOf(english), time: () => html``, pathOf: () => null };
  const shown = String(render({ ...stats, audience: 1 } as Stats, reader));
  for (const name of ["Answered", "Voicemail", "Opted out", "Abandoned", "Minutes", "Cost"]) {
    expect(shown).toContain(`<dt>${name}</dt>`);
  }
  expect(shown).not.toMatch(/Opened|Clicked/);
});

test("of texts nothing says that nobody has opened them: neither the view, nor the words for an agent", async () => {
  const id = await scenario.campaign({ name: "Texts", channel: "sms", subject: null, body_html: null });
  const reader: Reader = { ...speechOf(english), time: () => html``, pathOf: () => null };
  const shown = String(render({ ...(await scenario.stats(id)), audience: 1 } as Stats, reader));
  expect(shown).toContain("<dt>Sent</dt>");
  expect(shown).not.toMatch(/Opened|Clicked/);
  const { id: propertyId } = scenario;
  await scenario.query(
    (sql) => sql`update campaigns set status = 'sent' where property_id = ${propertyId} and id = ${id}`,
  );
  const { content } = await ask("tools/call", { name: "campaign_stats", arguments: { campaignId: id } }, {});
  expect(content[0].text).toMatch(/sent 0 of 0\. Converted 0\./);
});

test("words come through JSON as they were, with each part of a sentence escaped where it is HTML", () => {
  const words = unpacked(JSON.parse(JSON.stringify(packed(english)))) as typeof english;
  expect(words.report.checkBeforeSending).toBe(english.report.checkBeforeSending);
  expect(words.report.inDaysAtMost(30, "<3")).toBe(english.report.inDaysAtMost(30, "<3"));
  const parts = ["<b>9</b>", html`<i>hours</i>`, "cap"] as const;
  expect(String(words.report.pendingWait(...parts))).toBe(String(english.report.pendingWait(...parts)));
  expect(String(words.report.pendingWait(...parts))).toContain("&lt;b&gt;9");
  expect(speechOf(words).counted(2, "person")).toBe("2 people");
});

async function ask(
  method: string,
  params: Record<string, unknown>,
  capabilities: object = SHOWS,
  query = "",
) {
  const named = (params.uri ?? params.name) as string | undefined;
  const { body } = await service.request("POST", `/api/mcp${query}`, {
    body: {
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "host", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
      },
    },
    headers: {
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      ...(named && { "Mcp-Name": named }),
    },
  });
  return body.result;
}

type Listed = { name: string; _meta?: { ui: { resourceUri: string } } }[];

test("a client that shows views is told of them, and any other client's list is as ever", async () => {
  const { tools } = await ask("tools/list", {}, SHOWS, "?toolsets=all");
  const named = (tools as Listed).flatMap(({ name, _meta }) => (_meta ? [[name, _meta.ui.resourceUri]] : []));
  expect(Object.fromEntries(named)).toEqual(
    Object.fromEntries(NAMES.map((name) => [name, `ui://view/${name}`])),
  );
  const other = await ask("tools/list", {}, {}, "?toolsets=all");
  expect(JSON.stringify(other.tools)).not.toContain("ui://");
  const html = { extensions: { [EXTENSION_ID]: { mimeTypes: ["text/plain"] } } };
  expect(JSON.stringify((await ask("tools/list", {}, html)).tools)).not.toContain("ui://");
  const { resources } = await ask("resources/list", {});
  expect(resources.filter(({ uri }: { uri: string }) => uri.startsWith("ui://"))).toHaveLength(NAMES.length);
  const read = await ask("resources/read", { uri: "ui://view/campaign_stats" });
  expect(read.contents).toMatchObject([
    { mimeType: RESOURCE_MIME_TYPE, _meta: { ui: { csp: { connectDomains: [] } } } },
  ]);
  expect(read.contents[0].text.length).toBeLessThan(40_000);
  for (const uri of ["ui://view/parts", "ui://view/../bridge", "ui://view/constructor"]) {
    expect(await ask("resources/read", { uri })).toBeUndefined();
  }
});

test("a client of an earlier revision says once that it shows views, and any other gets none", async () => {
  const connected = async (capabilities: object) => {
    const client = new YesterdaysClient({ name: "host", version: "1" }, { capabilities });
    const requestInit = { headers: { "X-Api-Key": service.tenant.key } };
    const url = new URL(`${service.baseUrl}/api/mcp?toolsets=all`);
    await client.connect(new YesterdaysTransport(url, { requestInit }) as never);
    return client;
  };
  // The client's own list compiles the schemas of all tools, which takes it seconds.
  const toolsOf = async (client: YesterdaysClient) =>
    (await client.request({ method: "tools/list" }, ListToolsResultSchema)).tools;
  const host = await connected(SHOWS);
  const named = (await toolsOf(host)).filter(({ _meta }) => _meta?.ui !== undefined);
  expect(named.map(({ name }) => name).sort()).toEqual([...NAMES]);
  expect(host.getServerCapabilities()).toMatchObject({ extensions: { [EXTENSION_ID]: {} } });
  const { resources } = await host.listResources();
  expect(resources.filter(({ uri }) => uri.startsWith("ui://"))).toHaveLength(NAMES.length);
  const read = await host.readResource({ uri: "ui://view/campaign_stats" });
  expect(read.contents[0]).toMatchObject({ mimeType: RESOURCE_MIME_TYPE });
  const other = await connected({});
  expect(JSON.stringify(await toolsOf(other))).not.toContain("ui://");
  expect(other.getServerCapabilities()).not.toHaveProperty("extensions");
  await Promise.all([host.close(), other.close()]);
});

/** The extension's own host in a page: it reads the view and the answer as the tests hand them in. */
const MODULES: Readonly<Record<string, string>> = {
  "@modelcontextprotocol/ext-apps/app-bridge": "@modelcontextprotocol/ext-apps/dist/src/app-bridge.js",
  "@modelcontextprotocol/client": "@modelcontextprotocol/client/dist/index.mjs",
  "@modelcontextprotocol/client/_shims": "@modelcontextprotocol/client/dist/shimsBrowser.mjs",
  "@modelcontextprotocol/core": "@modelcontextprotocol/core/dist/index.mjs",
  "@modelcontextprotocol/core/internal": "@modelcontextprotocol/core/dist/internal.mjs",
  "zod/v4": "zod/v4/index.js",
  "pkce-challenge": "pkce-challenge/dist/index.browser.js",
  eventsource: "eventsource/dist/index.js",
  "eventsource-parser": "eventsource-parser/dist/index.js",
  "eventsource-parser/stream": "eventsource-parser/dist/stream.js",
};
const HOME = "http://host.test/";

const HOST = `<!doctype html><html lang="en"><title>Host</title>
<script type="importmap">${JSON.stringify({ imports: Object.fromEntries(Object.entries(MODULES).map(([name, path]) => [name, `/modules/${path}`])) })}</script>
<body><h1>Host</h1><main id="host"></main>
<script type="module">
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
window.showView = async ({ html, result, theme }) => {
  const frame = document.createElement("iframe");
  frame.title = "The view";
  frame.sandbox = "allow-scripts";
  frame.style = "width:100%;height:900px;border:0";
  document.getElementById("host").replaceChildren(frame);
  const bridge = new AppBridge(null, { name: "host", version: "1" }, {}, { hostContext: { theme } });
  const initialized = new Promise((resolve) => bridge.addEventListener("initialized", resolve));
  const sized = new Promise((resolve) => bridge.addEventListener("sizechange", resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await initialized;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(result);
  return sized;
};
</script></body></html>`;

async function host(page: Page): Promise<string[]> {
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.route("**/*", async (route) => {
    const url = route.request().url();
    if (url === HOME) return route.fulfill({ contentType: "text/html", body: HOST });
    if (!url.startsWith(`${HOME}modules/`)) {
      complaints.push(`asked for ${url}`);
      return route.abort();
    }
    const file = new URL(`../../../node_modules/${url.slice(`${HOME}modules/`.length)}`, import.meta.url);
    return route.fulfill({ contentType: "text/javascript", body: await readFile(fileURLToPath(file)) });
  });
  await page.goto(HOME);
  await page.waitForFunction("window.showView !== undefined");
  return complaints;
}

test.runIf(browser)(
  "every view shows its tool's answer in the extension's own host, light or dark in turn",
  async () => {
    const context = await browser!.newContext({ viewport: { width: 360, height: 900 } });
    const page = await context.newPage();
    const complaints = await host(page);
    for (const [index, name] of NAMES.entries()) {
      const [{ text: html }] = (await ask("resources/read", { uri: `ui://view/${name}` })).contents;
      const result = await ask("tools/call", { name, arguments: inputs[name] }, SHOWS, "?toolsets=all");
      expect(result.isError, JSON.stringify(result.structuredContent)).toBeUndefined();
      const themes = ["light", "dark"].filter((_, turn) => isFull || turn === index % 2);
      for (const theme of themes) {
        const shown = { html, result, theme };
        const size = await page.evaluate((given) => (globalThis as never as Host).showView(given), shown);
        expect(size, name).toMatchObject({ width: expect.any(Number), height: expect.any(Number) });
        const frame = page.frameLocator("iframe");
        await frame.locator("#view > *").first().waitFor();
        await picture(page, `view-${name}-${theme}`);
        const inside = page.frames().find((one) => one !== page.mainFrame())!;
        expect(await violations(inside), `${name} ${theme}`).toEqual([]);
        expect(await frame.locator("img, b").count(), `${name} made a player's text into HTML`).toBe(0);
      }
    }
    expect(complaints).toEqual([]);
    await context.close();
  },
);

interface Host {
  showView(given: object): Promise<unknown>;
}
