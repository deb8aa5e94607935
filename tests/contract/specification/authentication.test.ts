import { createHash } from "node:crypto";
import { decodeProtectedHeader, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { directoryChanged } from "#runtime/identity/directory.ts";
import { NOWHERE } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";
import { session } from "./fields.ts";

let service: TestService;
let user: Awaited<ReturnType<TestService["signIn"]>>;

beforeAll(async () => {
  service = await startService();
  user = await service.signIn();
});
afterAll(() => service?.stop());

const makeKey = async (input: object = {}) => {
  const body = { property_id: service.tenant.id, name: "k", ...input };
  return (await service.post("/api/functions/create-api-key", body, session(user.token))).body;
};

describe("Credentials", () => {
  test("a key is sent as X-Api-Key, or as Authorization: Bearer", async () => {
    expect((await service.get("/api/players")).status).toBe(200);
    const bearer = { "X-Api-Key": null, Authorization: `Bearer ${service.tenant.key}` };
    expect((await service.get("/api/players", bearer)).status).toBe(200);
  });

  test("a JWT issued by an identity provider is sent as Authorization: Bearer", async () => {
    expect((await service.get("/api/players", session(user.token))).status).toBe(200);
    expect((await service.get("/api/players", { "X-Api-Key": user.token })).status).toBe(401);
  });
});

describe("Rules", () => {
  test("1. A key starts with pk_, is bound to exactly one property; only a hash is stored", async () => {
    const { api_key } = await makeKey();
    expect(api_key).toMatch(/^pk_[0-9A-Za-z]+$/);
    const kept = await service.internals.db.asSystem(
      (sql) =>
        sql`select property_id, key_prefix from api_keys where key_hash = ${createHash("sha256").update(api_key).digest()}`,
    );
    expect([...kept]).toEqual([{ property_id: service.tenant.id, key_prefix: api_key.slice(0, 12) }]);
  });

  test("2. A key without explicit scopes has [read, write]; a read-only key is created by passing [read]", async () => {
    expect((await makeKey()).scopes).toEqual(["read", "write"]);
    expect((await makeKey({ scopes: ["read"] })).scopes).toEqual(["read"]);
  });

  test("3. read grants listing and retrieval; write grants create, update, send and delete", async () => {
    const read = { "X-Api-Key": (await makeKey({ scopes: ["read"] })).api_key };
    for (const table of ["players", "campaigns", "templates", "segments"]) {
      expect((await service.get(`/api/${table}`, read)).status, table).toBe(200);
    }
    for (const [method, path] of [
      ["POST", "/api/players"],
      ["PATCH", `/api/players/${NOWHERE}`],
      ["DELETE", `/api/players/${NOWHERE}`],
      ["POST", "/api/functions/send-campaign"],
    ] as const) {
      const body = method === "DELETE" ? {} : { body: {} };
      const { status } = await service.request(method, path, { ...body, headers: read });
      expect(status, `${method} ${path}`).toBe(403);
    }
  });

  test("4. A JWT user with several properties selects one with X-Property-Id", async () => {
    const several = await service.signIn();
    const second = await service.newTenant();
    await service.call("grant_membership", { property_id: second.id, user_id: several.id, role: "admin" });
    const headers = { ...session(several.token), "X-Property-Id": second.id };
    const { body } = await service.request("POST", "/api/players", { body: {}, headers });
    expect(body.property_id).toBe(second.id);
  });

  test("5. Key management is declared for JWT authentication", async () => {
    for (const [name, input] of [
      ["create-api-key", { property_id: service.tenant.id, name: "k" }],
      ["list-api-keys", { property_id: service.tenant.id }],
      ["revoke-api-key", { key_id: NOWHERE }],
    ] as const) {
      const { status, body } = await service.post(`/api/functions/${name}`, input);
      expect([status, body.error], name).toEqual([401, "invalid_credential"]);
    }
  });

  test("6. Revocation is immediate", async () => {
    const made = await makeKey();
    const headers = { "X-Api-Key": made.api_key };
    const under = Array.from({ length: 20 }, () => service.get("/api/players", headers));
    await Promise.all(under);
    await service.post("/api/functions/revoke-api-key", { key_id: made.key.id }, session(user.token));
    const after = await Promise.all(Array.from({ length: 20 }, () => service.get("/api/players", headers)));
    expect(after.map(({ status }) => status)).toEqual(Array(20).fill(401));
  });

  test("7. A key may have an expires_at after which it is refused", async () => {
    const made = await makeKey({ expires_at: new Date(Date.now() + 3_600_000).toISOString() });
    const headers = { "X-Api-Key": made.api_key };
    expect((await service.get("/api/players", headers)).status).toBe(200);
    await service.database.db.asSystem(async (sql) => {
      await sql`update api_keys set expires_at = now() where id = ${made.key.id}`;
      await directoryChanged(sql);
    });
    await expect
      .poll(async () => (await service.get("/api/players", headers)).body.error)
      .toBe("credential_expired");
  });

  test("8. Unauthenticated: 401, WWW-Authenticate with resource_metadata, {error: missing_credential}", async () => {
    const { status, headers, body } = await service.get("/api/players", { "X-Api-Key": null });
    expect([status, body.error]).toEqual([401, "missing_credential"]);
    const url = /^Bearer resource_metadata="([^"]+)"$/.exec(headers.get("WWW-Authenticate") ?? "")?.[1];
    expect(url).toBe(`${service.internals.config.siteUrl}/.well-known/oauth-protected-resource`);
  });

  test("8. The metadata document lists resource, bearer methods, scopes and the api_key method", async () => {
    const { status, body } = await service.get("/.well-known/oauth-protected-resource", {
      "X-Api-Key": null,
    });
    expect(status).toBe(200);
    expect(typeof body.resource).toBe("string");
    expect(body.bearer_methods_supported).toEqual(["header"]);
    expect(body.scopes_supported).toEqual(["read", "write"]);
    const [method] = body.agent_auth.methods;
    expect(JSON.stringify(method)).toContain("api_key");
    expect(method).toMatchObject({
      in: "header",
      name: "X-Api-Key",
      key_prefix: "pk_",
      scopes: ["read", "write"],
    });
    expect(URL.canParse(method.registration_url)).toBe(true);
  });

  test("9. OAuth client registration is not offered; there is no authorization server", async () => {
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/openid-configuration",
      "/register",
      "/authorize",
      "/token",
    ]) {
      expect((await service.get(path, { "X-Api-Key": null })).status, path).toBe(404);
    }
    const { body } = await service.get("/.well-known/oauth-protected-resource", { "X-Api-Key": null });
    expect(body.authorization_servers ?? []).toEqual([]);
  });

  test("10. Login and password reset are throttled per account", async () => {
    const account = await service.signIn();
    const anonymous = { "X-Api-Key": null };
    for (const [path, body] of [
      ["/api/auth/login", { email: account.email, password: "wrong" }],
      ["/api/auth/password-reset", { email: account.email }],
    ] as const) {
      const statuses = [];
      for (let tries = 0; tries < 7; tries += 1)
        statuses.push((await service.post(path, body, anonymous)).status);
      expect(statuses.at(-1), path).toBe(429);
    }
  });
});

describe("401 and 403 tokens", () => {
  const errorOf = async (headers: Record<string, string | null>) => {
    const { status, body } = await service.get("/api/players", headers);
    return [status, body.error];
  };

  test("missing_credential: no key or token sent", async () => {
    expect(await errorOf({ "X-Api-Key": null })).toEqual([401, "missing_credential"]);
  });

  test("invalid_credential: key unknown, revoked, or malformed", async () => {
    for (const key of ["pk_unknown", "nonsense", "pk_", `${service.tenant.key}x`]) {
      expect(await errorOf({ "X-Api-Key": key }), key).toEqual([401, "invalid_credential"]);
    }
  });

  test("invalid_credential: a forged JWT", async () => {
    const { kid } = decodeProtectedHeader(user.token);
    const claims = { sub: user.id, email: user.email };
    const forged = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: kid! })
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(Buffer.from("anything that is a secret of 32 bytes"));
    const [, payload] = user.token.split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    for (const token of [forged, none, `${user.token.slice(0, -4)}AAAA`]) {
      expect(await errorOf(session(token))).toEqual([401, "invalid_credential"]);
    }
  });

  test("insufficient_scope: write with a read-only key", async () => {
    const { status, body } = await service.post("/api/players", {}, { "X-Api-Key": service.tenant.readKey });
    expect([status, body.error]).toEqual([403, "insufficient_scope"]);
  });

  test("wrong_property: the key belongs to a different property", async () => {
    const rival = await service.newTenant();
    for (const id of [rival.id, NOWHERE]) {
      expect(await errorOf({ "X-Property-Id": id })).toEqual([403, "wrong_property"]);
      const named = await service.post("/api/functions/compliance-check", {
        propertyId: id,
        channel: "sms",
        phone: "+17025550100",
      });
      expect([named.status, named.body.error]).toEqual([403, "wrong_property"]);
    }
  });
});
