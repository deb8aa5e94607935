import { expect, test } from "vitest";
import { suggestion } from "#tools/validation/domains.ts";
import { type Evidence, verdictOf } from "#tools/validation/verdict.ts";

const known = (address: string | null, rest: Partial<Evidence> = {}) =>
  verdictOf({ address, domain: "mx", delivered: null, ...rest });

test.each<[string, Evidence["domain"], Evidence["delivered"], string, string, string[]]>([
  ["ann@example.com", "mx", null, "unknown", "low", []],
  ["ann@example.com", null, null, "unknown", "unknown", []],
  ["ann@example.com", "mx", "yes", "deliverable", "low", []],
  ["ann@example.com", "mx", "bounced", "undeliverable", "high", ["previously_bounced"]],
  ["ann@example.com", "domain_not_found", "yes", "undeliverable", "high", ["domain_not_found"]],
  ["ann@example.com", "null_mx", null, "undeliverable", "high", ["null_mx"]],
  ["ann@example.com", "no_mx", null, "undeliverable", "high", ["no_mx"]],
  ["ann@example.com", "address_only", null, "risky", "medium", ["no_mx"]],
  ["ann@example.com", "dns_timeout", null, "unknown", "unknown", ["dns_timeout"]],
  ["info@example.com", "mx", "yes", "risky", "medium", ["role_address"]],
  ["info+vip@example.com", "mx", null, "risky", "medium", ["role_address"]],
  ["ann@mailinator.com", "mx", null, "risky", "high", ["disposable_domain"]],
  [
    "info@mailinator.com",
    "null_mx",
    null,
    "undeliverable",
    "high",
    ["null_mx", "disposable_domain", "role_address"],
  ],
])("%s with %s and %s is %s, %s", (address, domain, delivered, result, risk, reasons) => {
  expect(verdictOf({ address, domain, delivered })).toMatchObject({ result, risk, reasons });
});

test("a text that is no address is undeliverable, and says nothing more", () => {
  expect(known(null)).toEqual({
    result: "undeliverable",
    risk: "high",
    reasons: ["invalid_syntax"],
    checks: {
      syntax: false,
      mx: null,
      null_mx: null,
      disposable: false,
      role: false,
      free_provider: false,
      catch_all: null,
      smtp_deliverable: null,
    },
    did_you_mean: null,
  });
});

test("a mistyped domain of a well-known provider is told, and well-known ones are never", () => {
  const cases = {
    "gmial.com": "gmail.com",
    "gmail.con": "gmail.com",
    "gmail.co": "gmail.com",
    "hotmial.com": "hotmail.com",
    "yaho.com": "yahoo.com",
    "outlok.com": "outlook.com",
    "ymail.com": null,
    "mail.com": null,
    "casino.example": null,
  };
  for (const [domain, wanted] of Object.entries(cases))
    expect([domain, suggestion(domain)]).toEqual([domain, wanted]);
  expect(known("ann@gmial.com").did_you_mean).toBe("ann@gmail.com");
  expect(known("ann@gmail.com").checks.free_provider).toBe(true);
});
