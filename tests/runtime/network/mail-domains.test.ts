import { afterEach, beforeEach, expect, test } from "vitest";
import { openMailDomains } from "#runtime/network/mail-domains.ts";
import { COM, dnsServer } from "../../support/servers/dns-server.ts";

let dns: Awaited<ReturnType<typeof dnsServer>>;

beforeEach(async () => {
  dns = await dnsServer({ "web.example": {} });
});
afterEach(() => dns.stop());

test("a moment in which the internet's names fail leaves the later denials to be believed", async () => {
  dns.zones.com = { failing: true };
  const domains = openMailDomains([dns.address]);
  expect(await domains.look("first.example")).toBe("dns_timeout");
  dns.zones.com = COM;
  expect(await domains.look("second.example")).toBe("domain_not_found");
});

test.each([
  ["denies them all", { missing: true }],
  ["has no record of any", {}],
  ["fails", { failing: true }],
] as const)("a resolver that %s from now on denies no domain, after any earlier answer", async (_, com) => {
  const domains = openMailDomains([dns.address]);
  expect(await domains.look("first.example")).toBe("domain_not_found");
  dns.zones.com = com;
  expect(await domains.look("second.example")).toBe("dns_timeout");
  expect(await domains.look("web.example")).toBe("dns_timeout");
  dns.zones.com = COM;
  expect(await domains.look("third.example")).toBe("domain_not_found");
});

test("domains that are denied at once are proved by one question", async () => {
  const domains = openMailDomains([dns.address]);
  const names = Array.from({ length: 20 }, (_, at) => `gone${at}.example`);
  const answers = await Promise.all(names.map((name) => domains.look(name)));
  expect(new Set(answers)).toEqual(new Set(["domain_not_found"]));
  expect(dns.asked.filter((asked) => asked === "ns com").length).toBeLessThan(names.length);
});
