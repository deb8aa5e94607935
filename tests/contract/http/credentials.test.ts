import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newApiKey } from "#runtime/identity/credentials.ts";
import { ADDRESS_LIMIT } from "#transports/http/admission.ts";
import { expectFrame, raw, refused } from "../../support/answers.ts";
import { type Answer, startService, type TestService } from "../../support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service?.stop());

const player = (body: unknown, headers?: Record<string, string | null>) =>
  service.post("/api/players", body, headers);

describe("a credential", () => {
  test("that is missing, malformed, unknown or doubled is refused in the specification's words", async () => {
    const wrong: [string, Record<string, string | null>][] = [
      ["missing_credential", { "X-Api-Key": null }],
      ["invalid_credential", { "X-Api-Key": "pk_short" }],
      ["invalid_credential", { "X-Api-Key": `${service.tenant.key.slice(0, -1)}!` }],
      ["invalid_credential", { "X-Api-Key": "pk_000000000000000000000000000000AAAAAA" }],
      ["invalid_credential", { "X-Api-Key": null, Authorization: "Basic dXNlcjpwYXNz" }],
      ["invalid_credential", { "X-Api-Key": null, Authorization: "Bearer eyJhbGciOiJub25lIn0.e30." }],
      ["invalid_credential", { Authorization: `Bearer ${service.tenant.readKey}` }],
      ["invalid_credential", { "X-Api-Key": `${service.tenant.key}, ${service.tenant.readKey}` }],
    ];
    for (const [code, headers] of wrong) {
      const answer = await refused(401, code, service.get("/api/players", headers));
      expect(answer.body.error).toBe(code);
      expect(answer.headers.get("WWW-Authenticate")).toMatch(/^Bearer resource_metadata="http/);
    }
  });

  test("that stands in two X-Api-Key lines is refused, even when one is right", async () => {
    const answer = await raw(
      service.baseUrl,
      `GET /api/players HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${service.tenant.key}\r\nX-Api-Key: ${service.tenant.readKey}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain("invalid_credential");
  });

  test("is taken as X-Api-Key, as Bearer, or as both when they are the same", async () => {
    const bearer = { Authorization: `Bearer ${service.tenant.key}` };
    expect((await service.get("/api/players", { "X-Api-Key": null, ...bearer })).status).toBe(200);
    expect((await service.get("/api/players", bearer)).status).toBe(200);
  });

  test("that has expired says so, and one that was revoked is refused at once", async () => {
    const make = (name: string) => service.call("create_api_key", { property_id: service.tenant.id, name });
    const [old, revoked] = [await make("old"), await make("revoked")];
    for (const { api_key: key } of [old, revoked]) {
      expect((await service.get("/api/players", { "X-Api-Key": key })).status).toBe(200);
    }
    await service.database.db.asSystem(async (sql) => {
      await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${old.id}`;
      await sql`update directory_version set version = version + 1`;
      await sql`select pg_notify('directory', '')`;
    });
    await expect
      .poll(async () => (await service.get("/api/players", { "X-Api-Key": old.api_key })).body.error)
      .toBe("credential_expired");
    const { token } = await service.signIn();
    const revoking = await service.post(
      "/api/functions/revoke-api-key",
      { key_id: revoked.id },
      { "X-Api-Key": null, Authorization: `Bearer ${token}` },
    );
    expect(revoking.body).toEqual({ success: true });
    await refused(401, "invalid_credential", service.get("/api/players", { "X-Api-Key": revoked.api_key }));
  });

  test("of a user with several properties needs X-Property-Id", async () => {
    const other = await service.newTenant();
    const user = await service.signIn();
    await service.call("grant_membership", { property_id: other.id, user_id: user.id, role: "analyst" });
    const token = { "X-Api-Key": null, Authorization: `Bearer ${user.token}` };
    await expect.poll(async () => (await service.get("/api/players", token)).status).toBe(400);
    const { body } = await refused(400, "invalid", service.get("/api/players", token));
    expect(body.error).toContain("X-Property-Id");
    expect(body.error).toContain(other.id);
    for (const id of [service.tenant.id, other.id]) {
      expect((await service.get("/api/players", { ...token, "X-Property-Id": id })).status).toBe(200);
    }
    await refused(403, "insufficient_scope", player({}, { ...token, "X-Property-Id": other.id }));
    await refused(400, "invalid", service.get("/api/players", { ...token, "X-Property-Id": "5" }));
    // A call is about one property, though the user works in both.
    const both = [{ property_id: service.tenant.id }, { property_id: other.id }];
    await refused(403, "wrong_property", service.post("/api/players", both, token));
  });
});

describe("signing in", () => {
  const ANYONE = { "X-Api-Key": null };
  const login = (email: string, password: string) =>
    service.post("/api/auth/login", { email, password }, ANYONE);

  test("gives a token that says who one is", async () => {
    const user = await service.signIn();
    const answer = await login(user.email.toUpperCase(), user.password);
    expectFrame(answer, "login");
    expect(answer).toMatchObject({
      status: 200,
      body: {
        user: { id: user.id, email: user.email, role: "authenticated" },
        expires_in: expect.any(Number),
      },
    });
    const bearer = { ...ANYONE, Authorization: `Bearer ${answer.body.token}` };
    for (const method of ["GET", "POST"]) {
      const me = await service.request(method, "/api/auth/me", { headers: bearer });
      expect(me, me.text).toMatchObject({ status: 200, body: { id: user.id, email: user.email } });
    }
    await refused(401, "missing_credential", service.post("/api/auth/me", {}, ANYONE));
  });

  test("fails with the same words for a wrong password and an unknown account, and the sixth try waits", async () => {
    const { email } = await service.signIn();
    const wrong = await refused(401, "invalid_credential", login(email, "not the password"));
    const unknown = await refused(401, "invalid_credential", login("nobody@example.com", "not the password"));
    expect(wrong.text).toBe(unknown.text);
    expect(wrong.body.error).toBe("invalid_credential");
    expect(wrong.body.details[0].message).toContain("password");
    for (let tries = 2; tries <= 5; tries++)
      await refused(401, "invalid_credential", login(email, "not the password"));
    const { body, headers } = await refused(429, "rate_limited", login(email, "not the password"));
    expect(body.retry_after).toBeGreaterThan(0);
    expect(headers.get("Retry-After")).toBe(String(body.retry_after));
    expect(Number(headers.get("X-RateLimit-Reset")) - Date.now() / 1000).toBeCloseTo(body.retry_after, -1);
    expect(headers.get("X-RateLimit-Limit")).toBe("5");
    expect(headers.get("X-RateLimit-Remaining")).toBe("0");
  });
});

describe("the rate limit", () => {
  test("counts down to a 429 that says when to come back", async () => {
    const { api_key: key } = await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "three",
      rate_limit: 3,
    });
    const answers: Answer[] = [];
    for (let count = 0; count < 5; count++)
      answers.push(await service.get("/api/players", { "X-Api-Key": key }));
    const limited = answers.filter(({ status }) => status === 429);
    // A window may end between two of the requests.
    expect(limited.length).toBeGreaterThan(0);
    expect(answers[0]!.headers.get("X-RateLimit-Limit")).toBe("3");
    const { body, headers } = limited[0]!;
    expectFrame(limited[0]!, "429");
    expect(body).toMatchObject({ error: "rate_limited", retry_after: expect.any(Number) });
    expect(headers.get("Retry-After")).toBe(String(body.retry_after));
    expect(headers.get("X-RateLimit-Remaining")).toBe("0");
    expect(Number(headers.get("X-RateLimit-Reset"))).toBeGreaterThan(Date.now() / 1000 - 2);
  });

  test("is left alone by requests of which the database does not say whose they are", async () => {
    const known = (await service.newTenant()).key;
    const asks = (key: string) => service.get("/api/players?limit=1", { "X-Api-Key": key });
    expect((await asks(known)).status).toBe(200);
    await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "forgets all that is cached",
    });
    const { answers, guess } = await whileKeysAreLocked(async () => ({
      answers: await Promise.all(Array.from({ length: ADDRESS_LIMIT + 50 }, () => asks(known))),
      guess: await asks(newApiKey().secret),
    }));
    expect(new Set([...answers, guess].map(({ status }) => status))).toEqual(new Set([503]));
    expect(new Set(answers.map(({ headers }) => headers.get("X-RateLimit-Remaining")))).not.toContain("0");
    expect((await asks(known)).status).toBe(200);
    await refused(401, "invalid_credential", asks(newApiKey().secret));
  });

  test("of an address gets back the look-up of a good key", async () => {
    const left = async () => {
      const { headers } = await service.get("/api/players", { "X-Api-Key": null });
      return [headers.get("X-RateLimit-Reset"), Number(headers.get("X-RateLimit-Remaining"))] as const;
    };
    await expect
      .poll(async () => {
        const { key } = await service.newTenant();
        const [window, before] = await left();
        await service.get("/api/players?limit=1", { "X-Api-Key": key });
        const [same, after] = await left();
        // Both are in one window, but for once a minute.
        return same === window ? before - after : "another window";
      })
      .toBe(1);
  });

  test("of an address keeps its guesses at keys from the database, and leaves the good keys behind it alone", async () => {
    const guess = () => service.get("/api/players?limit=1", { "X-Api-Key": newApiKey().secret });
    const fresh = (await service.newTenant()).key;
    expect((await service.get("/api/players", { "X-Api-Key": fresh })).status).toBe(200);
    const spend = async () => {
      for (let turn = 0; turn < 100; turn++) {
        const answers = await Promise.all(Array.from({ length: 25 }, guess));
        if (answers.some(({ status }) => status === 429)) return;
      }
    };
    await spend();
    const refusedAtOnce = async () => {
      await spend();
      return whileKeysAreLocked(guess);
    };
    let answer = await refusedAtOnce();
    // The window ended between the last two guesses, and the new one has only just begun.
    if (answer.status !== 429) answer = await refusedAtOnce();
    expect(answer.status).toBe(429);
    expect(answer.body.retry_after).toBeGreaterThan(0);
    expect(answer.headers.get("X-RateLimit-Remaining")).toBe("0");
    await service.call("create_api_key", {
      property_id: service.tenant.id,
      name: "forgets all that is cached",
    });
    expect((await service.get("/api/players", { "X-Api-Key": fresh })).status).toBe(200);
  });
});

/** Meanwhile each look-up of a key waits for two seconds, and gets no notice. */
async function whileKeysAreLocked<T>(work: () => Promise<T>): Promise<T> {
  const admin = postgres(service.database.url, { max: 1, onnotice: () => {} });
  try {
    return (await admin.begin(async (sql) => {
      await sql`lock table api_keys in access exclusive mode`;
      return work();
    })) as T;
  } finally {
    await admin.end();
  }
}
