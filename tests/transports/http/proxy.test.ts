import { afterAll, beforeAll, expect, test } from "vitest";
import { networkOf } from "#runtime/limits/rate-limit.ts";
import { startService, type TestService } from "../../support/service.ts";

let direct: TestService;
let behindTwo: TestService;

beforeAll(async () => {
  direct = await startService({ role: "web" });
  behindTwo = await startService({ role: "web", trustProxy: 2 });
});
afterAll(async () => {
  await direct?.stop();
  await behindTwo?.stop();
});

/** The address that the audit row of a write has. */
async function addressSeen(service: TestService, forwarded: string | null): Promise<string> {
  const { body } = await service.post("/api/players", {}, { "X-Forwarded-For": forwarded });
  const audit = await service.get(`/api/audit_logs?entity_id.eq=${body.id}`);
  return audit.body[0].ip;
}

test("without a proxy to trust, nobody can say what their address is", async () => {
  expect(await addressSeen(direct, "203.0.113.9")).toMatch(/127\.0\.0\.1$/);
});

test("behind two proxies the caller is the second from the end, also behind addresses that the caller wrote", async () => {
  expect(await addressSeen(behindTwo, "203.0.113.9, 10.0.0.1")).toBe("203.0.113.9");
  expect(await addressSeen(behindTwo, "1.1.1.1, 2.2.2.2, 203.0.113.9, 10.0.0.1")).toBe("203.0.113.9");
  expect(await addressSeen(behindTwo, "203.0.113.9:4711,10.0.0.1")).toBe("203.0.113.9");
  expect(await addressSeen(behindTwo, "[2001:db8::9]:4711, 10.0.0.1")).toBe("2001:db8::9");
});

test("an address that came past the proxies, or is none, counts as the connection's own", async () => {
  for (const forwarded of [
    null,
    "203.0.113.9",
    "unknown, 10.0.0.1",
    ", ",
    "'; drop table players, 10.0.0.1",
  ]) {
    expect(await addressSeen(behindTwo, forwarded), String(forwarded)).toMatch(/127\.0\.0\.1$/);
  }
});

test("a stranger's limit is that of the network of 64 bits that a subscriber has, and of one IPv4 address", async () => {
  const remaining = async (address: string) => {
    const headers = { "X-Forwarded-For": `${address}, 10.0.0.1` };
    const response = await fetch(`${behindTwo.baseUrl}/api/players`, { headers });
    return Number(response.headers.get("x-ratelimit-remaining"));
  };
  const full = await remaining("2001:db8:0:8::1");
  expect(await remaining("2001:db8:0:7::1")).toBe(full);
  expect(await remaining("2001:db8:0:7:ffff:ffff:ffff:ffff")).toBe(full - 1);
  expect(await remaining("198.51.100.1")).toBe(full);
  expect(await remaining("198.51.100.2")).toBe(full);
  expect(await remaining("::ffff:198.51.100.2")).toBe(full - 1);
  const written = ["2001:0DB8:0:7::9", "2001:db8::7:0:0:1.2.3.4", "::1", "fe80::1%eth0", "unknown"];
  expect(written.map(networkOf)).toEqual([
    "2001:db8:0:7::/64",
    "2001:db8:0:7::/64",
    "0:0:0:0::/64",
    "fe80:0:0:0::/64",
    "unknown",
  ]);
});
