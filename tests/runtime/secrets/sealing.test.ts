import { expect, test } from "vitest";
import { locationOf, seal, unseal } from "#runtime/secrets/sealing.ts";

const config = { appSecret: "s".repeat(32) };
const place = locationOf("message_providers", "credentials", "p", "1");

test("a sealed secret opens in its place, and is sealed differently each time", () => {
  const sealed = seal(config, place, "señal");
  expect(sealed).not.toContain("señal");
  expect(seal(config, place, "señal")).not.toBe(sealed);
  expect(unseal(config, place, sealed)).toBe("señal");
});

test("in another record, with another secret or changed, it does not open", () => {
  const sealed = seal(config, place, "secret");
  const elsewhere = locationOf("message_providers", "credentials", "q", "1");
  expect(() => unseal(config, elsewhere, sealed)).toThrow(/does not open/);
  expect(() => unseal({ appSecret: "t".repeat(32) }, place, sealed)).toThrow(/does not open/);
  for (const cut of [sealed.slice(0, -4), `${sealed.slice(0, 12)}AAAA${sealed.slice(16)}`, "sealed:1:"]) {
    expect(() => unseal(config, place, cut)).toThrow(/does not open/);
  }
});

test("a character too many does not open, for secrets of every length", () => {
  for (const secret of ["a", "ab", "abc", "abcd"]) {
    const sealed = seal(config, place, secret);
    for (const more of ["A", "x", "AA", "=", " "]) {
      expect(() => unseal(config, place, sealed + more), `${secret} ${more}`).toThrow(/does not open/);
    }
  }
});

test("a value that was stored before there were seals is read as it is", () => {
  expect(unseal(config, place, "whsec_abc")).toBe("whsec_abc");
});
