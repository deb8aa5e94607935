import { createSecretKey } from "node:crypto";
import { expect, test } from "vitest";
import { readLink, signLink } from "#runtime/secrets/links.ts";

const secret = new Uint8Array(32).fill(7);
const rival = new Uint8Array(32).fill(8);
const payload = { property: "p-1", player: "Zoë", channels: ["sms"], exp: "a field of its own" };

test("a link is read as what was signed", () => {
  const token = signLink(secret, "unsubscribe", payload);
  expect(token).toMatch(/^[\w-]+\.[\w-]{22}$/);
  expect(readLink(secret, "unsubscribe", token)).toEqual(payload);
  expect(readLink(createSecretKey(secret), "unsubscribe", token)).toEqual(payload);
});

test("a link for one purpose is not one for another", () => {
  const token = signLink(secret, "unsubscribe", payload);
  for (const purpose of ["inbox", "unsubscribe.", "", "Unsubscribe"]) {
    expect(readLink(secret, purpose, token)).toBeNull();
  }
  // The border between purpose and payload cannot be moved.
  const [encoded = "", mac] = token.split(".");
  for (const purpose of ["unsubscribe", "unsubscribe."]) {
    const moved = `${encoded.slice(4)}.${mac}`;
    expect(readLink(secret, purpose + encoded.slice(0, 4), moved)).toBeNull();
  }
});

test("a link signed with another secret is refused", () => {
  expect(readLink(secret, "inbox", signLink(rival, "inbox", payload))).toBeNull();
});

test("a link that is changed anywhere is refused", () => {
  const token = signLink(secret, "inbox", payload);
  for (let i = 0; i < token.length; i += 1) {
    for (const other of ["A", "w", ".", "="]) {
      if (token[i] !== other)
        expect(readLink(secret, "inbox", token.slice(0, i) + other + token.slice(i + 1))).toBeNull();
    }
  }
});

const token = signLink(secret, "inbox", payload);
const [encoded, mac] = token.split(".") as [string, string];
test.each([
  ["empty", ""],
  ["a dot", "."],
  ["without a signature", encoded],
  ["with an empty signature", `${encoded}.`],
  ["with half a signature", `${encoded}.${mac.slice(0, 11)}`],
  ["with its signature twice", `${token}.${mac}`],
  ["without a payload", `.${mac}`],
  ["padded", `${token}=`],
  ["followed by a line end", `${token}\n`],
  ["outside ASCII", `${encoded}.${"é".repeat(11)}`],
  ["with another payload", `${Buffer.from('[{"player":"Max"}]').toString("base64url")}.${mac}`],
])("a link that is %s is refused", (_, text) => {
  expect(readLink(secret, "inbox", text)).toBeNull();
});
