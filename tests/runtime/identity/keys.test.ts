import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { newApiKey, readApiKey } from "#runtime/identity/credentials.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The checksum by the bitwise definition of CRC-32, and not by a library. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  let rest = BigInt((crc ^ 0xffffffff) >>> 0);
  let digits = "";
  for (; rest > 0n; rest /= 62n) digits = BASE62[Number(rest % 62n)] + digits;
  return digits.padStart(6, "0");
}

test("a new key is pk_, thirty random characters and their checksum", () => {
  const { secret, prefix, hash } = newApiKey();
  expect(secret).toMatch(/^pk_[0-9A-Za-z]{36}$/);
  expect(secret.slice(-6)).toBe(checksum(secret.slice(0, -6)));
  expect(prefix).toBe(secret.slice(0, 12));
  expect(hash).toEqual(createHash("sha256").update(secret).digest());
});

test("a key is read as what it was made with", () => {
  for (let i = 0; i < 500; i += 1) {
    const { secret, prefix, hash } = newApiKey();
    expect(readApiKey(secret)).toEqual({ prefix, hash });
  }
});

test("a small checksum is filled with zeros", () => {
  // 62^5 is a fifth of CRC-32's range, so a search of some keys finds one.
  for (let i = 0; ; i += 1) {
    const body = `pk_${String(i).padStart(30, "0")}`;
    if (!checksum(body).startsWith("00")) continue;
    expect(readApiKey(body + checksum(body))).not.toBeNull();
    return;
  }
});

test("a checksum that is right does not make up for a wrong length or prefix", () => {
  for (const body of [
    `pk_${"a".repeat(29)}`,
    `pk_${"a".repeat(31)}`,
    `sk_${"a".repeat(30)}`,
    "a".repeat(33),
  ]) {
    expect(readApiKey(body + checksum(body))).toBeNull();
  }
});

test("every mistyped character is noticed without a look-up", () => {
  const { secret } = newApiKey();
  for (let i = 0; i < secret.length; i += 1) {
    for (const other of ["0", "Z", "z"]) {
      if (secret[i] === other) continue;
      expect(readApiKey(secret.slice(0, i) + other + secret.slice(i + 1))).toBeNull();
    }
  }
  const swapped = secret.replace(/^(pk_.*?)(.)(?!\2)(.)/, "$1$3$2");
  expect(readApiKey(swapped)).toBeNull();
});

const whole = newApiKey().secret;
test.each([
  ["empty", ""],
  ["a prefix alone", "pk_"],
  ["cut short", whole.slice(0, -1)],
  ["too long", `${whole}0`],
  ["followed by a line end", `${whole}\n`],
  ["after a space", ` ${whole}`],
  ["in capitals", whole.toUpperCase()],
  ["with another prefix", whole.replace("pk_", "sk_")],
  ["with a NUL", `${whole.slice(0, -1)}\0`],
  ["with a letter outside ASCII", `${whole.slice(0, -1)}é`],
  ["a token", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln"],
])("a credential that is %s is no key", (_, text) => {
  expect(readApiKey(text)).toBeNull();
});

test("all 62 characters come up, each about as often as the others", () => {
  const counts = new Map<string, number>();
  for (let i = 0; i < 4000; i += 1) {
    for (const character of newApiKey().secret.slice(3, 33)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  expect(counts.size).toBe(62);
  const expected = (4000 * 30) / 62;
  let chiSquare = 0;
  for (const count of counts.values()) chiSquare += (count - expected) ** 2 / expected;
  // 61 degrees of freedom: a fair draw is over 170 once in 300,000,000,000 runs; bytes modulo 62 give over 600.
  expect(chiSquare).toBeLessThan(170);
});
