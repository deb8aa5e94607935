import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "#runtime/config.ts";
import { openDirectory } from "#runtime/identity/directory.ts";
import { openSessions } from "#runtime/identity/sessions.ts";
import { issueToken, newSigningKey } from "#runtime/identity/tokens.ts";
import { createLog } from "#runtime/log.ts";
import { testDatabase } from "../../support/database.ts";

const ISSUER = "https://identity.example";
const EMAIL = "admin@example.com";

const database = await testDatabase();
const { db } = database;
const directory = await openDirectory(db, createLog("silent"));
const providersKey = await newSigningKey();
let provider: Server;
let open: () => ReturnType<typeof openSessions>;
let userId: string;

beforeAll(async () => {
  provider = createServer((_, response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ keys: [providersKey.publicJwk] })),
  );
  provider.listen(0, "127.0.0.1");
  await once(provider, "listening");
  const config = readConfig({
    DATABASE_URL: database.url,
    APP_SECRET: "t".repeat(32),
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: "marketing",
    JWKS_URL: `http://127.0.0.1:${(provider.address() as AddressInfo).port}/jwks`,
  });
  open = () => openSessions(db, directory, config);
  const [user] = await db.asSystem(
    (sql) => sql<{ id: string }[]>`
    insert into users (email, password_hash, is_platform_admin) values (${EMAIL}, 'none', true) returning id`,
  );
  userId = user!.id;
});
afterAll(async () => {
  provider.close();
  await directory.close();
  await database.drop();
});

describe("a token of an outside identity provider", () => {
  const token = (extra: Record<string, unknown>) =>
    issueToken(providersKey, {
      issuer: ISSUER,
      audience: "marketing",
      subject: "s-1",
      issuedAt: Math.floor(directory.now() / 1000),
      expiresIn: 60,
      extra,
    });

  test("is its user's where the provider says that it has seen the email proved", async () => {
    const sessions = await open();
    const actor = await sessions.verify(await token({ email: EMAIL.toUpperCase(), email_verified: true }));
    expect(actor).toMatchObject({ type: "user", id: userId, isPlatformAdmin: true });
  });

  test.each([
    {},
    { email_verified: false },
    { email_verified: "true" },
    { email_verified: 1 },
    { email_verified: null },
  ])("is nobody's where it says %j of the email", async (said) => {
    const sessions = await open();
    await expect(sessions.verify(await token({ email: EMAIL, ...said }))).rejects.toMatchObject({
      code: "invalid_credential",
    });
  });
});

describe("a signing key that is retired", () => {
  const retire = (ago: string) =>
    db.asSystem(
      (sql) => sql`update signing_keys set retired_at = now() - ${ago}::interval where retired_at is null`,
    );
  const kids = async (sessions: Awaited<ReturnType<typeof open>>) =>
    (await sessions.jwks()).keys.map((key) => (key as { kid: string }).kid);

  test("signs no more, and verifies and is published for as long as a token of it can live", async () => {
    const before = await open();
    const known = await kids(before);
    const [old] = known;
    const oldToken = await before.issue(userId);
    await retire("11 hours");
    const after = await open();
    expect(await after.verify(oldToken)).toMatchObject({ id: userId });
    const published = await kids(after);
    expect(published).toHaveLength(known.length + 1);
    expect(published).toEqual(expect.arrayContaining(known));
    const header = JSON.parse(
      Buffer.from((await after.issue(userId)).split(".")[0]!, "base64url").toString(),
    );
    expect(header.kid).not.toBe(old);
  });

  test("verifies no token that is newer than its last, and still what it signed for good", async () => {
    const before = await open();
    const kept = await kids(before);
    const token = await before.issue(userId);
    await retire("14 hours");
    const after = await open();
    await expect(after.verify(token)).rejects.toMatchObject({ code: "invalid_credential" });
    expect(await kids(after)).toEqual(expect.arrayContaining(kept));
  });

  test("gives way to one new key, however many processes look for it at once", async () => {
    await retire("0 hours");
    const all = await Promise.all(Array.from({ length: 4 }, open));
    const tokens = await Promise.all(all.map((sessions) => sessions.issue(userId)));
    const signers = tokens.map(
      (token) => JSON.parse(Buffer.from(token.split(".")[0]!, "base64url").toString()).kid,
    );
    expect(new Set(signers).size).toBe(1);
  });
});
