import { execFileSync, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import { describe, expect, test } from "vitest";
import { newSigningSecret, signWebhook } from "#runtime/secrets/signature.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const rival = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const delivery = {
  secret,
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1614265330,
  body: '{"test": 2432232314}',
  prefix: "Service",
};
const headers = signWebhook(delivery);
/** The HMAC as the platform's web crypto makes it: another implementation of the same standard. */
async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Buffer> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return Buffer.from(await crypto.subtle.sign("HMAC", imported, new TextEncoder().encode(text)));
}

test("the specification's signature is keyed with the whole secret string, over the timestamp, a dot and the body", async () => {
  const expected = await hmac(new TextEncoder().encode(secret), `1614265330.${delivery.body}`);
  expect(headers["X-Service-Timestamp"]).toBe("1614265330");
  expect(headers["X-Service-Signature"]).toBe(`v1=${expected.toString("hex")}`);
  expect(headers).not.toHaveProperty("X-Service-Signature-Previous");
});

test("the Standard Webhooks signature is the one of that standard's own test vector", () => {
  expect(headers["webhook-id"]).toBe(delivery.id);
  expect(headers["webhook-timestamp"]).toBe("1614265330");
  expect(headers["webhook-signature"]).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

const openssl = spawnSync("openssl", ["version"]).status === 0;
test.skipIf(!openssl)("openssl makes the same signature", () => {
  const made = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret], {
    input: `1614265330.${delivery.body}`,
    encoding: "utf8",
  });
  expect(headers["X-Service-Signature"]).toBe(`v1=${made.trim().split("= ")[1]}`);
});

describe("others' libraries", () => {
  const TOLERANCE = 300;
  const body = '{"name":"Zoë 🎰"}';
  const signedAt = (age: number) =>
    signWebhook({ ...delivery, body, timestamp: Math.floor(Date.now() / 1000) - age });
  const verifiers: Record<string, (text: string, given: Record<string, string>, key?: string) => unknown> = {
    stripe: (text, given, key = secret) => {
      const header = `t=${given["X-Service-Timestamp"]},${given["X-Service-Signature"]}`;
      return Stripe.webhooks.signature!.verifyHeader(text, header, key, TOLERANCE);
    },
    standardwebhooks: (text, given, key = secret) => new Webhook(key).verify(text, given),
  };

  test.each(Object.entries(verifiers))(
    "%s accepts what is signed, and no other body, key or time",
    (_, verify) => {
      verify(body, signedAt(0));
      verify(body, signedAt(TOLERANCE - 10));
      expect(() => verify(body.replace("Z", "z"), signedAt(0))).toThrow();
      expect(() => verify(`${body} `, signedAt(0))).toThrow();
      expect(() => verify(body, signedAt(0), rival)).toThrow();
      expect(() => verify(body, signedAt(TOLERANCE + 10))).toThrow();
      const { "X-Service-Timestamp": _at, "webhook-timestamp": _time, ...signed } = signedAt(TOLERANCE + 10);
      const { "X-Service-Timestamp": at, "webhook-timestamp": time } = signedAt(0);
      expect(() =>
        verify(body, { ...signed, "X-Service-Timestamp": at!, "webhook-timestamp": time! }),
      ).toThrow();
    },
  );
});

test("the body is signed as its UTF-8 bytes", async () => {
  const body = '{"name":"Zoë 🎰"}';
  const expected = await hmac(new TextEncoder().encode(secret), `1614265330.${body}`);
  const signed = signWebhook({ ...delivery, body });
  expect(signed["X-Service-Signature"]).toBe(`v1=${expected.toString("hex")}`);
});

test("while a rotation lasts, the first header stays the new secret's and the old one's stands beside it", () => {
  const rotating = signWebhook({ ...delivery, previousSecret: rival });
  const old = signWebhook({ ...delivery, secret: rival });
  expect(rotating["X-Service-Signature"]).toBe(headers["X-Service-Signature"]);
  expect(rotating["X-Service-Signature-Previous"]).toBe(old["X-Service-Signature"]);
  expect(rotating["webhook-signature"]).toBe(`${headers["webhook-signature"]} ${old["webhook-signature"]}`);
});

test("the product's own name stands in the header names", () => {
  const named = signWebhook({ ...delivery, prefix: "Lucky", previousSecret: rival });
  expect(Object.keys(named)).toEqual([
    "X-Lucky-Timestamp",
    "X-Lucky-Signature",
    "webhook-id",
    "webhook-timestamp",
    "webhook-signature",
    "X-Lucky-Signature-Previous",
  ]);
});

test("a new secret is whsec_ and 32 random bytes, and no two are the same", () => {
  const secrets = Array.from({ length: 100 }, newSigningSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const made of secrets) {
    expect(made).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(made.slice(6), "base64")).toHaveLength(32);
  }
});

test("more secrets than are remembered are still signed right", () => {
  const secrets = Array.from({ length: 1200 }, newSigningSecret);
  const sign = (key: string) => signWebhook({ ...delivery, secret: key })["X-Service-Signature"] ?? "";
  const first = secrets.map(sign);
  expect(secrets.map(sign)).toEqual(first);
  const signed = `1614265330.${delivery.body}`;
  expect(first).toEqual(secrets.map((key) => `v1=${createHmac("sha256", key).update(signed).digest("hex")}`));
});
