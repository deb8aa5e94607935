import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../support/service.ts";

const siteUrl = "https://site.casino.test";
let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web", siteUrl });
});
afterAll(() => service?.stop());

const NOBODY = { "X-Api-Key": null };

/** A refused client is led to the metadata, which must be of the requested resource (RFC 9728). */
async function resourceAfter(method: string, path: string, headers: Record<string, string | null> = NOBODY) {
  const refused = await service.request(method, path, { headers });
  expect(refused.status).toBe(401);
  const challenge = refused.headers.get("WWW-Authenticate") ?? "";
  const url = new URL(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "");
  expect(url.origin).toBe(siteUrl);
  const { status, body } = await service.get(url.pathname, NOBODY);
  expect(status).toBe(200);
  return body;
}

test("a caller who is refused at the MCP endpoint is led to the metadata of that endpoint, and over REST to the API's", async () => {
  const { baseUrl } = service.internals.config;
  for (const headers of [NOBODY, { "X-Api-Key": `pk_${"x".repeat(36)}` }]) {
    const mcp = await resourceAfter("POST", "/api/mcp", headers);
    const rest = await resourceAfter("GET", "/api/players", headers);
    expect([mcp.resource, rest.resource]).toEqual([`${baseUrl}/api/mcp`, `${baseUrl}/api`]);
    expect({ ...mcp, resource: rest.resource }).toEqual(rest);
  }
});

test("every address that answers one method says of the others which it answers", async () => {
  const places: [string, string][] = [
    ["/", "GET"],
    ["/docs", "GET"],
    ["/docs/api", "GET"],
    ["/docs/campaigns", "GET"],
    ["/llms.txt", "GET"],
    ["/api/openapi.json", "GET"],
    ["/api/mcp/server-card", "GET"],
    ["/.well-known/mcp.json", "GET"],
    ["/.well-known/oauth-protected-resource/api/mcp", "GET"],
    ["/u/token", "GET, POST"],
    ["/preferences/token", "GET, POST"],
    ["/password-reset", "GET, POST"],
    ["/api/callbacks/ses/1", "POST"],
    ["/api/auth/me", "GET, POST"],
    ["/api/players", "GET, POST, PATCH, DELETE"],
  ];
  for (const [path, methods] of places) {
    for (const method of ["OPTIONS", "PUT"]) {
      const { status, headers } = await service.request(method, path, { headers: NOBODY });
      expect([status, headers.get("Allow")], `${method} ${path}`).toEqual([405, methods]);
    }
  }
  for (const path of ["/nothing", "/api/nothing", "/.well-known/", "/u"]) {
    expect((await service.request("PUT", path, { headers: NOBODY })).status, path).toBe(404);
  }
});

test("security.txt names the contact that the operator has set, and without one no mailbox that nobody reads", async () => {
  const { text } = await service.get("/.well-known/security.txt", NOBODY);
  expect(text).toContain(`Contact: ${siteUrl}/\n`);
  expect(text).not.toContain("mailto:");
  const contact = "mailto:security@casino.test";
  const told = await startService({ role: "web", siteUrl, securityContact: contact });
  try {
    const { text: own } = await told.get("/.well-known/security.txt", NOBODY);
    expect(own).toContain(`Contact: ${contact}\n`);
    const days = (Date.parse(/^Expires: (\S+)$/m.exec(own)![1]!) - Date.now()) / 86_400_000;
    expect([days > 180, days < 365]).toEqual([true, true]);
  } finally {
    await told.stop();
  }
});

test("an address that has no page answers a browser with a page, and a program with JSON", async () => {
  const browser = { ...NOBODY, Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  const page = await service.get("/nothing", browser);
  expect([page.status, page.headers.get("Content-Type")]).toEqual([404, "text/html; charset=utf-8"]);
  expect(page.text).toContain("There is no page here");
  for (const [path, headers] of [
    ["/nothing", NOBODY],
    ["/api/nothing", browser],
  ] as const) {
    const { status, body } = await service.get(path, headers);
    expect([status, body.code], path).toEqual([404, "not_found"]);
  }
});

test("browsers find an icon, and search engines that nothing is for them", async () => {
  const icon = await service.get("/favicon.ico", NOBODY);
  expect([icon.status, icon.headers.get("Content-Type")]).toEqual([200, "image/svg+xml"]);
  expect((await service.get("/robots.txt", NOBODY)).text).toBe("User-agent: *\nDisallow: /\n");
});
