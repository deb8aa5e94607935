import { expect, test } from "vitest";
import { openMailDomains } from "#runtime/network/mail-domains.ts";
import { dnsServer } from "../../support/servers/dns-server.ts";

test("a moment in which the internet's names fail leaves the later denials to be believed", async () => {
  const dns = await dnsServer({ com: { failing: true } });
  try {
    const domains = openMailDomains([dns.address]);
    expect(await domains.look("first.example")).toBe("dns_timeout");
    dns.zones.com = {};
    expect(await domains.look("second.example")).toBe("domain_not_found");
    const before = dns.asked.length;
    expect(await domains.look("third.example")).toBe("domain_not_found");
    expect(dns.asked.slice(before)).not.toContain("a com");
  } finally {
    await dns.stop();
  }
});
