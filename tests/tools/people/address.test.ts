import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressHash, maskAddress, normalizeEmail, normalizePhone, pads } from "#tools/people/address.ts";
import { identityHash } from "#tools/people/identity.ts";
import { type TestDatabase, testDatabase } from "../../support/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

test.each([
  [" Ana@Example.COM ", "ana@example.com"],
  ["ana+vip@mail.example.com", "ana+vip@mail.example.com"],
  ["josé@example.com", "josé@example.com"],
  ["ana@BÜCHER.example", "ana@xn--bcher-kva.example"],
  ["o'brien@example.com", "o'brien@example.com"],
])("%j is the address %s", (text, address) => {
  expect(normalizeEmail(text)).toBe(address);
});

test.each([
  "",
  "ana",
  "ana@",
  "@example.com",
  "ana@example",
  "a b@example.com",
  "ana@1.2.3.4",
  "ana@exa%6dple.com",
  "ana@example.com,bob@example.com",
  "ana@bob@example.com",
  "<ana@example.com>",
  "ana..b@example.com",
  ".ana@example.com",
  "ana@-example.com",
  "ana@example.com\r\nBcc: b@example.com",
  `${"a".repeat(65)}@example.com`,
])("%j is not an address", (text) => {
  expect(normalizeEmail(text)).toBeNull();
});

test.each([
  ["(202) 555-0123", "US", "+12025550123"],
  ["+44 20 7946 0958", "US", "+442079460958"],
  ["020 7946 0958", "GB", "+442079460958"],
  ["202.555.0123 ext 5", "US", "+12025550123"],
  ["06 12 34 56 78", "FR", "+33612345678"],
  ["011 33 6 12 34 56 78", "US", "+33612345678"],
  ["+1 202-555-0123", "US", "+12025550123"],
  ["1.202.555.0123", "CA", "+12025550123"],
  // Mexico's mobile numbers had a 1 after the country code until 2019; lists and gateways still write it.
  ["+5215512345678", "US", "+525512345678"],
  ["+52 1 (55) 1234-5678", "MX", "+525512345678"],
  // Of an area code that the library does not know yet; a file with it is taken.
  ["(999) 555-0123", "US", "+19995550123"],
])("%j in %s is %s", (text, country, phone) => {
  expect(normalizePhone(text, country)).toBe(phone);
});

test.each([
  "",
  "123",
  "call me",
  "06 12 34 56 78",
  "0034 612345678",
  "202 555 01234",
  "0115550123",
  "+1202555012345678",
  "tel 2025550123 or 2025550124",
])("%j is no phone", (text) => {
  expect(normalizePhone(text, "US")).toBeNull();
});

test("normalizing twice changes nothing", () => {
  fc.assert(
    fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: "grapheme" })), (text) => {
      const once = normalizeEmail(text);
      if (once !== null) expect(normalizeEmail(once)).toBe(once);
      const phone = normalizePhone(text, "US");
      if (phone !== null) expect(normalizePhone(phone, "GB")).toBe(phone);
    }),
  );
});

test("SQL and TypeScript hash an address alike, with a pepper of any length", async () => {
  const cases = [
    "ana@example.com",
    "josé@example.com",
    "+12025550123",
    "+5491123456789",
    "+549112345678",
    "",
  ].flatMap((address) => [16, 32, 64, 100].map((length) => ({ address, pepper: randomBytes(length) })));
  await database.db.asSystem(async (sql) => {
    for (const { address, pepper } of cases) {
      const { inner, outer } = pads(pepper);
      const [row] = await sql<
        { hash: Buffer }[]
      >`select address_hash(${inner}, ${outer}, ${address}) as hash`;
      expect(row!.hash.equals(addressHash(pepper, address))).toBe(true);
    }
  });
});

test("a masked address can be recognized and not read", () => {
  expect(maskAddress("john@example.com")).toBe("j***@e***.com");
  expect(maskAddress("+12025554567")).toBe("+1•••••4567");
  expect(maskAddress("+442079460958")).toBe("+44•••••0958");
});

test("a person is the same with any case, accents and spaces of the name", () => {
  const pepper = randomBytes(32);
  const hash = (first_name: string, last_name: string, birth_date = "1980-01-02") =>
    identityHash(pepper, { first_name, last_name, birth_date })?.toString("hex");
  expect(hash("José", "O'Brien-Smith")).toBe(hash(" jose ", "OBRIEN SMITH"));
  expect(hash("Jose", "Smith")).not.toBe(hash("Jose", "Smith", "1980-01-03"));
  expect(identityHash(pepper, { first_name: "Jose", last_name: "Smith" })).toBeNull();
});
