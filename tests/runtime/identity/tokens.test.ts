import { createPublicKey, type JsonWebKeyInput, type webcrypto } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { generateKeyPair, type JWTHeaderParameters, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueToken, newSigningKey, remoteVerifier, verifyToken } from "#runtime/identity/tokens.ts";

const issuer = "https://service.test";
const audience = "https://service.test/api";
const key = await newSigningKey();
const next = await newSigningKey();
const stranger = await newSigningKey();
const now = Math.floor(Date.now() / 1000);
const clock = () => now * 1000;
const trusted = { keys: [key, next], issuer, audience, now: clock };
const claims = { issuer, audience, subject: "user-1", issuedAt: now, expiresIn: 60 };
const complete = { iss: issuer, aud: audience, sub: "user-1", iat: now, exp: now + 60 };
const header = { alg: "ES256", typ: "JWT", kid: key.kid };

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token signed with our own key, but with any claims and any header. */
function signed(payload: Record<string, unknown>, changed: Partial<JWTHeaderParameters> = {}, by = key) {
  return new SignJWT(payload).setProtectedHeader({ ...header, ...changed }).sign(by.privateJwk);
}

/** The same token, made of text: for headers that no library would sign. */
async function handmade(changed: Record<string, unknown>): Promise<string> {
  const { subtle } = globalThis.crypto;
  const ec = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const { kty, crv, x, y, d } = key.privateJwk;
  const imported = await subtle.importKey("jwk", { kty, crv, x, y, d } as webcrypto.JsonWebKey, ec, false, [
    "sign",
  ]);
  const input = `${base64url({ ...header, ...changed })}.${base64url(complete)}`;
  const signature = await subtle.sign(ec, imported, new TextEncoder().encode(input));
  return `${input}.${Buffer.from(signature).toString("base64url")}`;
}

test("a token is verified with the public half of its key", async () => {
  const token = await issueToken(key, { ...claims, extra: { name: "Zoë", admin: false } });
  const verified = await verifyToken(token, {
    ...trusted,
    keys: [{ kid: key.kid, publicJwk: key.publicJwk }],
  });
  expect(verified).toMatchObject({ iss: issuer, aud: audience, sub: "user-1", name: "Zoë", admin: false });
  expect(verified.exp - verified.iat).toBe(60);
});

test("a key's public half holds nothing private and is ready for a JWKS", () => {
  expect(Object.keys(key.publicJwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  expect(key.publicJwk).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig", kid: key.kid });
  expect(next.kid).not.toBe(key.kid);
});

test("a key that was kept as JSON still signs and verifies", async () => {
  const restored: typeof key = JSON.parse(JSON.stringify(key));
  const token = await issueToken(restored, claims);
  expect(await verifyToken(token, { ...trusted, keys: [restored] })).toMatchObject({ sub: "user-1" });
});

test("while keys are rotated, tokens of both are good", async () => {
  for (const current of [key, next]) {
    expect(await verifyToken(await issueToken(current, claims), trusted)).toMatchObject({ sub: "user-1" });
  }
});

test("further claims do not replace the registered ones", async () => {
  const extra = { sub: "admin", iss: "https://rival.test", exp: now + 1e6, iat: 1 };
  const verified = await verifyToken(await issueToken(key, { ...claims, extra }), trusted);
  expect(verified).toMatchObject({ sub: "user-1", iss: issuer });
  expect(verified.exp).toBeLessThanOrEqual(now + 65);
});

test("a token whose time is over says so, five seconds late", async () => {
  await expect(
    verifyToken(await issueToken(key, { ...claims, expiresIn: -3 }), trusted),
  ).resolves.toBeTruthy();
  const late = await issueToken(key, { ...claims, expiresIn: -60 });
  await expect(verifyToken(late, trusted)).rejects.toMatchObject({
    name: "Fault",
    code: "credential_expired",
  });
});

const past = { iat: now - 120, exp: now - 60 };
const bodies: [string, () => Promise<string>][] = [
  ["for another audience", () => signed({ ...complete, aud: "https://rival.test" })],
  ["of another issuer", () => signed({ ...complete, iss: "https://rival.test" })],
  ["that is not good yet", () => signed({ ...complete, nbf: now + 60 })],
  ["with a subject that is no text", () => signed({ ...complete, sub: 7 })],
  ["with an empty subject", () => signed({ ...complete, sub: "" })],
  ["with an issue time that is no number", () => signed({ ...complete, iat: "now" })],
  ["with an expiry that is no number", () => signed({ ...complete, exp: "never" })],
  [
    "that is over and for another audience",
    () => signed({ ...complete, ...past, aud: "https://rival.test" }),
  ],
  ["that is over and of another issuer", () => signed({ ...complete, ...past, iss: "https://rival.test" })],
  ["that is over and signed by a stranger", () => signed({ ...complete, ...past }, {}, stranger)],
  ...["iss", "aud", "sub", "exp", "iat"].map((claim): [string, () => Promise<string>] => [
    `without ${claim}`,
    () => signed({ ...complete, [claim]: undefined }),
  ]),
];

const pem = createPublicKey({ key: key.publicJwk as JsonWebKeyInput["key"], format: "jwk" }).export({
  type: "spki",
  format: "pem",
});
const hmacWith = (secret: string | Buffer) =>
  new SignJWT(complete).setProtectedHeader({ ...header, alg: "HS256" }).sign(Buffer.from(secret));

const headers: [string, () => Promise<string>][] = [
  ["signed by a stranger under our key's id", () => signed(complete, {}, stranger)],
  ["signed by a stranger under its own id", () => signed(complete, { kid: stranger.kid }, stranger)],
  ["under another of our keys' ids", () => signed(complete, { kid: next.kid })],
  ["without a key id", () => handmade({ kid: undefined })],
  ["with a key id that is no text", () => handmade({ kid: [key.kid] })],
  ["of another type", () => signed(complete, { typ: "logout+jwt" })],
  ["without a type", () => handmade({ typ: undefined })],
  [
    "that asks for no algorithm",
    async () => `${base64url({ ...header, alg: "none" })}.${base64url(complete)}.`,
  ],
  ["that keeps a good signature and asks for none", () => handmade({ alg: "none" })],
  ["signed with the public key as an HMAC secret (PEM)", () => hmacWith(pem)],
  ["signed with the public key as an HMAC secret (JWK)", () => hmacWith(JSON.stringify(key.publicJwk))],
  [
    "signed with the public key as an HMAC secret (x)",
    () => hmacWith(Buffer.from(key.publicJwk.x ?? "", "base64url")),
  ],
  ["that calls its algorithm ES512", () => handmade({ alg: "ES512" })],
  ["with a critical extension", () => handmade({ crit: ["urn:x"], "urn:x": true })],
  ["with its payload unencoded", () => handmade({ crit: ["b64"], b64: false })],
  ["that brings a key", () => signed(complete, { jwk: stranger.publicJwk }, stranger)],
  ["that brings our own key", () => handmade({ jwk: key.publicJwk })],
  ["that names where its keys are", () => handmade({ jku: "https://rival.test/jwks.json" })],
  ["that names where its certificate is", () => handmade({ x5u: "https://rival.test/cert.pem" })],
  ["that brings a certificate", () => handmade({ x5c: ["MIIB"] })],
];

describe("a token is refused", () => {
  test("but not when it is made by hand in the right way", async () => {
    expect(await verifyToken(await handmade({}), trusted)).toMatchObject({ sub: "user-1" });
  });

  test.each([...bodies, ...headers])("%s", async (_, make) => {
    await expect(verifyToken(await make(), trusted)).rejects.toMatchObject({
      name: "Fault",
      code: "invalid_credential",
    });
  });

  test.each([
    "",
    ".",
    "..",
    "...",
    "a.b.c",
    "e30.e30.e30",
    "pk_0",
    "\0.\0.\0",
    "é.é.é",
    "null",
    `${"a".repeat(5000)}.b.c`,
  ])("that reads %j", async (token) => {
    await expect(verifyToken(token, trusted)).rejects.toMatchObject({ code: "invalid_credential" });
  });

  test("that is changed, cut or lengthened anywhere", async () => {
    const token = await issueToken(key, claims);
    const changed = Array.from(
      token,
      (old, i) => token.slice(0, i) + (old === "B" ? "C" : "B") + token.slice(i + 1),
    );
    // The last character carries four bits that no byte needs, so a change there may mean the same signature.
    changed.pop();
    for (const text of [...changed, token.slice(0, -2), `${token}A`, `${token}.`, `${token} `]) {
      await expect(verifyToken(text, trusted)).rejects.toMatchObject({ code: "invalid_credential" });
    }
  });
});

describe("an outside identity provider", () => {
  const outside = "https://idp.test";
  const theirs = { ...complete, iss: outside };
  const served = new Map<string, () => [number, string]>();
  let asked = 0;
  const server = createServer((request, response) => {
    asked += 1;
    const [status, body] = served.get(request.url ?? "")?.() ?? [404, ""];
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  });
  let origin = "";
  beforeAll(async () => {
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });

  const verifier = (path: string) =>
    remoteVerifier({ issuer: outside, audience, now: clock, jwksUrl: origin + path });
  const serve = (path: string, ...keys: unknown[]) => served.set(path, () => [200, JSON.stringify({ keys })]);

  test.each(["ES256", "RS256", "PS256", "EdDSA"])("is believed when it signs with %s", async (alg) => {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    serve("/all", key.publicJwk, {
      ...(await crypto.subtle.exportKey("jwk", publicKey)),
      alg,
      use: "sig",
      kid: "k1",
    });
    // No typ: providers differ in it.
    const token = await new SignJWT(theirs).setProtectedHeader({ alg, kid: "k1" }).sign(privateKey);
    expect(await verifier("/all")(token)).toMatchObject({ sub: "user-1", iss: outside });
  });

  test("is asked for its keys once, not once a token", async () => {
    serve("/once", key.publicJwk);
    const verify = verifier("/once");
    const token = await signed(theirs);
    const before = asked;
    await Promise.all([verify(token), verify(token), verify(token)]);
    await verify(token);
    expect(asked - before).toBe(1);
  });

  test.each(headers.filter(([name]) => !name.includes("type") && name !== "without a key id"))(
    "cannot be played by a token %s",
    async (_, make) => {
      serve("/ours", key.publicJwk, next.publicJwk);
      const verify = remoteVerifier({ issuer, audience, now: clock, jwksUrl: `${origin}/ours` });
      await expect(verify(await make())).rejects.toMatchObject({ code: "invalid_credential" });
    },
  );

  test.each(["iss", "aud", "sub", "exp", "iat"])("must give %s", async (claim) => {
    serve("/claims", key.publicJwk);
    const token = await signed({ ...theirs, [claim]: undefined });
    await expect(verifier("/claims")(token)).rejects.toMatchObject({ code: "invalid_credential" });
  });

  test("is held to its issuer, its audience and its time", async () => {
    serve("/claims", key.publicJwk);
    const verify = verifier("/claims");
    const rival = { aud: "https://rival.test" };
    await expect(verify(await signed(complete))).rejects.toMatchObject({ code: "invalid_credential" });
    await expect(verify(await signed({ ...theirs, ...rival }))).rejects.toMatchObject({
      code: "invalid_credential",
    });
    await expect(verify(await signed({ ...theirs, ...past }))).rejects.toMatchObject({
      code: "credential_expired",
    });
  });

  test("that does not publish a private or a secret key cannot make one work", async () => {
    serve("/private", key.privateJwk, { kty: "oct", k: "c2VjcmV0", kid: key.kid, alg: "HS256" });
    await expect(verifier("/private")(await signed(theirs))).rejects.toMatchObject({ name: "Fault" });
    await expect(verifier("/private")(await hmacWith("secret"))).rejects.toMatchObject({
      code: "invalid_credential",
    });
  });

  test.each<[string, [number, string]]>([
    ["answers with an error", [500, "{}"]],
    ["does not know the address", [404, ""]],
    ["answers with no JSON", [200, "<html>"]],
    ["answers with other JSON", [200, '{"ok":true}']],
    ["sends elsewhere", [302, ""]],
  ])("that %s is unavailable, and is asked again", async (_, answer) => {
    served.set("/broken", () => answer);
    const verify = verifier("/broken");
    const token = await signed(theirs);
    await expect(verify(token)).rejects.toMatchObject({ name: "Fault", code: "unavailable" });
    serve("/broken", key.publicJwk);
    await expect(verify(token)).resolves.toMatchObject({ sub: "user-1" });
  });

  test("that cannot be reached is unavailable", async () => {
    // Port 0 is nobody's: the connection fails at once.
    const verify = remoteVerifier({
      issuer: outside,
      audience,
      now: clock,
      jwksUrl: "http://127.0.0.1:0/jwks.json",
    });
    await expect(verify(await signed(theirs))).rejects.toMatchObject({ name: "Fault", code: "unavailable" });
  });
});
