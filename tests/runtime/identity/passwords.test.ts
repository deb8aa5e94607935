import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { checkPassword, hashPassword, needsRehash, verifyPassword } from "#runtime/identity/passwords.ts";

// From the test program of argon2's own reference implementation.
const REFERENCE = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
const password = "correct horse battery staple";
const stored = await hashPassword(password);

test("a password is stored as an argon2id string of the cost that OWASP asks for", () => {
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(stored).not.toContain(password);
});

test("the right password is accepted and every other is not", async () => {
  expect(await verifyPassword(password, stored)).toBe(true);
  for (const wrong of ["", password.toUpperCase(), `${password} `, password.slice(0, -1), stored]) {
    expect(await verifyPassword(wrong, stored)).toBe(false);
  }
});

test("the same password is stored differently each time", async () => {
  expect(await hashPassword(password)).not.toBe(stored);
});

test("a hash that another argon2 made is accepted", async () => {
  expect(await verifyPassword("password", REFERENCE)).toBe(true);
  expect(await verifyPassword("passwore", REFERENCE)).toBe(false);
});

test("a password typed with combining marks or full-width letters is the same password", async () => {
  const accented = await hashPassword("caf\u00e9 caf\u00e9 caf\u00e9");
  expect(await verifyPassword("cafe\u0301 cafe\u0301 cafe\u0301", accented)).toBe(true);
  expect(await verifyPassword("ｃaf\u00e9 caf\u00e9 caf\u00e9", accented)).toBe(true);
  expect(await verifyPassword("cafe cafe cafe", accented)).toBe(false);
});

test("an unknown account is refused, at the cost of the same hash as a known one", async () => {
  const hashes: string[] = [];
  const hook = createHook({ init: (_, type) => type.startsWith("ARGON2") && hashes.push(type) }).enable();
  expect(await verifyPassword("not the password", stored)).toBe(false);
  expect(hashes).toHaveLength(1);
  expect(await verifyPassword("not the password", null)).toBe(false);
  expect(hashes).toHaveLength(2);
  hook.disable();
});

test("a hash of another cost is to be made again", () => {
  expect(needsRehash(stored)).toBe(false);
  expect(needsRehash(REFERENCE)).toBe(true);
  expect(needsRehash(stored.replace("t=2", "t=1"))).toBe(true);
  expect(needsRehash(stored.replace("p=1", "p=2"))).toBe(true);
});

test("a stored value that is no argon2id string is an error and not a wrong password", async () => {
  for (const broken of [
    "",
    "plain text",
    REFERENCE.replace("argon2id", "argon2i"),
    "$2b$10$abcdefghijklmnopqrstuv",
  ]) {
    await expect(verifyPassword(password, broken)).rejects.toThrow("not an argon2id string");
  }
});

test("a password has 12 to 256 characters, counted as a reader counts them", () => {
  expect(checkPassword("a".repeat(11))).toMatch(/at least 12/);
  expect(checkPassword("a".repeat(12))).toBeNull();
  expect(checkPassword("a".repeat(256))).toBeNull();
  expect(checkPassword("a".repeat(257))).toMatch(/at most 256/);
  expect(checkPassword("🎰".repeat(11))).toMatch(/at least 12/);
  expect(checkPassword("🎰".repeat(12))).toBeNull();
  expect(checkPassword("e\u0301".repeat(11))).toMatch(/at least 12/);
});
