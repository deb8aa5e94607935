import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callbacksOf } from "#runtime/channels/index.ts";
import { isFull } from "../../../support/proof-size.ts";

const NOW = Date.UTC(2026, 10, 24, 12);
const URL_ = "https://casino.example/api/callbacks/x/1";
const keys = generateKeyPairSync("ed25519");
const publicKey = keys.publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64");

const hmac = (hash: string, key: string, text: string, form: "hex" | "base64" = "hex") =>
  createHmac(hash, key).update(text).digest(form);

/** Each vendor's settings, and how it signs a body. */
const VENDORS = {
  vapi: {
    settings: { api_key: "k", phone_number_id: "p", webhook_secret: "vapi-secret" },
    headers: (body: string) => ({ "x-vapi-signature": hmac("sha256", "vapi-secret", body) }),
  },
  retell: {
    settings: { api_key: "retell-key", agent_id: "a" },
    headers: (body: string) => ({
      "x-retell-signature": `v=${NOW},d=${hmac("sha256", "retell-key", body + NOW)}`,
    }),
  },
  bland: {
    settings: { api_key: "k", webhook_secret: "bland-secret" },
    headers: (body: string) => ({ "x-webhook-signature": hmac("sha256", "bland-secret", body) }),
  },
  telnyx: {
    settings: {
      carrier: "telnyx",
      account_sid: "a",
      application_id: "b",
      api_key: "c",
      public_key: publicKey,
    },
    headers: (body: string) => ({
      "telnyx-timestamp": String(NOW / 1000),
      "telnyx-signature-ed25519": sign(null, Buffer.from(`${NOW / 1000}|${body}`), keys.privateKey).toString(
        "base64",
      ),
    }),
  },
  twilio: {
    settings: { carrier: "twilio", account_sid: `AC${"0b".repeat(16)}`, auth_token: "twilio-token" },
    headers: (body: string) => {
      const form = [...new URLSearchParams(body)].sort(([one], [other]) => (one < other ? -1 : 1));
      return { "x-twilio-signature": hmac("sha1", "twilio-token", URL_ + form.flat().join(""), "base64") };
    },
  },
} as const;
type Vendor = keyof typeof VENDORS;
const NAMES = Object.keys(VENDORS) as Vendor[];

const callbacks = (vendor: Vendor) => {
  const kind = vendor === "twilio" || vendor === "telnyx" ? "conversation-relay" : vendor;
  return callbacksOf("voice", kind, VENDORS[vendor].settings)!;
};
const verified = (vendor: Vendor, body: string, headers: Record<string, string>, at = NOW) =>
  callbacks(vendor).verify({ url: URL_, headers, body: Buffer.from(body), at });

const BODY = "CallSid=CA1&CallStatus=completed";

test.each(NAMES)("a callback that %s has signed is taken", async (vendor) => {
  expect(await verified(vendor, BODY, VENDORS[vendor].headers(BODY))).toBe(true);
});

test.each(["retell", "telnyx"] as const)(
  "a callback of %s that is played again later is refused",
  async (vendor) => {
    expect(await verified(vendor, BODY, VENDORS[vendor].headers(BODY), NOW + 301_000)).toBe(false);
    expect(await verified(vendor, BODY, VENDORS[vendor].headers(BODY), NOW - 301_000)).toBe(false);
  },
);

/** The part of a form that Twilio signs. */
const twilioText = (body: string) =>
  [...new URLSearchParams(body)]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flat()
    .join("");

test("no tampered signature, body or time of any vendor is taken", async () => {
  const tampered = fc.record({
    vendor: fc.constantFrom(...NAMES),
    header: fc.nat(1),
    at: fc.nat(200),
    to: fc.integer({ min: 32, max: 126 }),
    body: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(tampered, async ({ vendor, header, at, to, body }) => {
      const headers: Record<string, string> = { ...VENDORS[vendor].headers(BODY) };
      const names = Object.keys(headers);
      const name = names[header % names.length]!;
      const changed = (text: string) => {
        const place = at % text.length;
        return text.slice(0, place) + String.fromCharCode(to) + text.slice(place + 1);
      };
      const next = body ? changed(BODY) : BODY;
      if (!body) headers[name] = changed(headers[name]!);
      // The same bytes in another spelling are no forgery.
      const same = (one: string, other: string) =>
        one.toLowerCase() === other.toLowerCase() ||
        Buffer.from(one, "base64").equals(Buffer.from(other, "base64"));
      const original: Record<string, string> = VENDORS[vendor].headers(BODY);
      fc.pre(next !== BODY || !same(headers[name]!, original[name]!));
      // Twilio signs names and values without a mark between them: another border is the same to it.
      fc.pre(vendor !== "twilio" || !body || twilioText(next) !== twilioText(BODY));
      expect(await verified(vendor, next, headers)).toBe(false);
    }),
    { numRuns: isFull ? 10_000 : 500 },
  );
  for (const vendor of NAMES) expect(await verified(vendor, BODY, {})).toBe(false);
});

test("a carrier's handshake needs the secret part of the address in its time, and Twilio's signature", () => {
  const send = "01a20cc0-8049-748b-8b89-99b59eccb127";
  const soon = Math.floor(NOW / 1000) + 60;
  const token = (key: string, expires = soon, of = send) =>
    `${expires}.${createHmac("sha256", key).update(`relay|${of}|${expires}`).digest("base64url")}`;
  const handshake = (vendor: Vendor, given: string, headers: Record<string, string> = {}) => {
    const url = `${URL_}/${send}/${given}`;
    return callbacks(vendor).verifyRelay!({ url, headers, sendId: send, token: given, at: NOW });
  };
  const signed = (given: string) => {
    const address = `${URL_.replace("https", "wss")}/${send}/${given}`;
    return { "x-twilio-signature": hmac("sha1", "twilio-token", address, "base64") };
  };
  const ours = token("twilio-token");
  expect(handshake("twilio", ours, signed(ours))).toBe(true);
  expect(handshake("twilio", ours)).toBe(false);
  const another = token("another");
  expect(handshake("twilio", another, signed(another))).toBe(false);
  const old = token("twilio-token", soon - 61);
  expect(handshake("twilio", old, signed(old))).toBe(false);
  expect(handshake("telnyx", token("c"))).toBe(true);
  const strange = [
    token("another"),
    token("c", soon - 61),
    token("c", soon, "01a20cc0-8049-748b-8b89-99b59eccb128"),
    token("c").replace(String(soon), String(soon + 1)),
    token("c").split(".")[1]!,
    `.${token("c").split(".")[1]}`,
    "",
  ];
  for (const given of strange) expect(handshake("telnyx", given), given).toBe(false);
  const forged = { "telnyx-signature-ed25519": "AAAA", "telnyx-timestamp": "1" };
  expect(handshake("telnyx", token("c"), forged)).toBe(false);
});
