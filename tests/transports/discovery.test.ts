import { afterAll, beforeAll, expect, test } from "vitest";
import { type House, startHouse } from "../support/house.ts";

const siteUrl = "https://site.casino.test";
let house: House;
beforeAll(async () => {
  house = await startHouse({ role: "web", siteUrl });
});
afterAll(() => house?.stop());

const NOBODY = { "X-Api-Key": null };

/** What a client that was refused is led to: the metadata, which must be of the resource that it asked (RFC 9728). */
async function resourceAfter(method: string, path: string, headers: Record<string, string | null> = NOBODY) {
  const refused = await house.request(method, path, { headers });
  expect(refused.status).toBe(401);
  const challenge = refused.headers.get("WWW-Authenticate") ?? "";
  const url = new URL(/resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? "");
  expect(url.origin).toBe(siteUrl);
  const { status, body } = await house.get(url.pathname, NOBODY);
  expect(status).toBe(200);
  return body;
}

test("who is refused at the MCP endpoint is led to the metadata of that endpoint, and over REST to the API's", async () => {
  const { baseUrl } = house.service.config;
  for (const headers of [NOBODY, { "X-Api-Key": `pk_${"x".repeat(36)}` }]) {
    const mcp = await resourceAfter("POST", "/api/mcp", headers);
    const rest = await resourceAfter("GET", "/api/players", headers);
    expect([mcp.resource, rest.resource]).toEqual([`${baseUrl}/api/mcp`, `${baseUrl}/api`]);
    expect({ ...mcp, resource: rest.resource }).toEqual(rest);
  }
});

test("security.txt names the contact that the operator has set, and without one no mailbox that nobody reads", async () => {
  const { text } = await house.get("/.well-known/security.txt", NOBODY);
  expect(text).toContain(`Contact: ${siteUrl}/\n`);
  expect(text).not.toContain("mailto:");
  const contact = "mailto:security@casino.test";
  const told = await startHouse({ role: "web", siteUrl, securityContact: contact });
  try {
    const { text: own } = await told.get("/.well-known/security.txt", NOBODY);
    expect(own).toContain(`Contact: ${contact}\n`);
    expect(own).toMatch(/^Expires: \d{4}-01-01T00:00:00.000Z$/m);
  } finally {
    await told.stop();
  }
});
