import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { CATALOG } from "#tools/catalog.ts";
import { placesOf } from "#transports/openapi.ts";
import { type Answer, type House, startHouse } from "../support/house.ts";
import { NOWHERE } from "./asking.ts";

let house: House;

beforeAll(async () => {
  house = await startHouse();
});

afterAll(() => house?.stop());

/** What every response under /api carries, whatever it says. */
function expectFrame({ headers, status, body }: Answer, about: string): void {
  expect(headers.get("API-Version"), about).toBe(CURRENT_VERSION);
  for (const name of ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(headers.get(name), `${about} ${name}`).toMatch(/^\d+$/);
  }
  if (status < 400) return;
  expect(headers.get("content-type"), about).toMatch(/^application\/json/);
  expect(typeof body.error === "string" || typeof body.error?.message === "string", about).toBe(true);
}

async function refused(status: number, code: string, answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expectFrame(got, `${status} ${code}`);
  expect({ status: got.status, code: got.body.code }, got.text).toEqual({ status, code });
  return got;
}

const player = (body: unknown, headers?: Record<string, string | null>) =>
  house.post("/api/players", body, headers);

describe("every response under /api", () => {
  test("carries the version and the rate limit, on every route and method", async () => {
    const paths = new Set(
      [...CATALOG.operations.values()].flatMap((one) => placesOf(one).map(([path]) => path)),
    );
    for (const path of [
      "/api/mcp",
      "/api/openapi.json",
      "/api/mcp/server-card",
      "/api/nothing",
      "/api",
      ...paths,
    ]) {
      const address = path.replace("{id}", NOWHERE);
      for (const method of ["GET", "PUT", "POST"]) {
        const answer = await house.request(method, address, method === "POST" ? { body: {} } : {});
        expectFrame(answer, `${method} ${path}`);
        expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(500);
        if (answer.status === 405) expect(answer.headers.get("Allow"), path).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
      }
    }
  });

  test("says so when nothing answers there, or not that method", async () => {
    await refused(404, "not_found", house.get("/api/no_such_table"));
    await refused(404, "not_found", house.get("/api/__proto__"));
    await refused(404, "not_found", house.get("/api/constructor"));
    await refused(404, "not_found", house.get("/api/pg_catalog.pg_authid"));
    await refused(404, "not_found", house.post("/api/functions/no-such-function", {}));
    const { headers } = await refused(405, "method_not_allowed", house.request("PUT", "/api/players"));
    expect(headers.get("Allow")).toBe("GET, POST, PATCH, DELETE");
    const record = await refused(
      405,
      "method_not_allowed",
      house.request("POST", `/api/players/${NOWHERE}`, { body: {} }),
    );
    expect(record.headers.get("Allow")).toBe("GET, PATCH, DELETE");
    const read = await refused(405, "method_not_allowed", house.post("/api/audit_logs", {}));
    expect(read.headers.get("Allow")).toBe("GET");
  });

  test("honors a version that it knows, and lists them for one that it does not", async () => {
    expect((await house.get("/api/players", { "API-Version": CURRENT_VERSION })).status).toBe(200);
    for (const version of ["2020-01-01", "latest", ""]) {
      const { body } = await refused(
        400,
        "invalid",
        house.get("/api/players", { "API-Version": version || "x" }),
      );
      expect(body.error).toContain(CURRENT_VERSION);
    }
  });
});

describe("a body", () => {
  const JSON_TYPE = { "Content-Type": "application/json" };

  test("that is not JSON is refused", async () => {
    for (const text of ["{", '{"first_name": }', "nonsense", '{"a":1}{"b":2}', "{'a':1}"]) {
      await refused(400, "invalid", player(text, JSON_TYPE));
    }
    for (const text of ['"text"', "1", "null", "true"])
      await refused(400, "invalid", player(text, JSON_TYPE));
    await refused(
      415,
      "unsupported_media_type",
      player("first_name=Ann", { "Content-Type": "application/x-www-form-urlencoded" }),
    );
    await refused(415, "unsupported_media_type", player("<a/>", { "Content-Type": "text/xml" }));
  });

  test("that is larger than a megabyte is refused, with its length or without", async () => {
    const large = JSON.stringify({ first_name: "x".repeat(1_100_000) });
    await refused(413, "too_large", player(large, JSON_TYPE));
    const { hostname, port } = new URL(house.baseUrl);
    const chunk = "x".repeat(1_100_000);
    const head = `POST /api/players HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-Api-Key: ${house.tenant.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const answer = await raw(`${head}${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toMatch(/\r\napi-version: /i);
  });

  test("with text or numbers that cannot be stored is refused, and the field is named", async () => {
    const bad = [
      '{"first_name":"a\\u0000b"}',
      '{"first_name":"\\ud800"}',
      '{"adt":1e999}',
      '{"first_name":{"a\\u0000":1}}',
    ];
    for (const text of bad) await refused(400, "invalid", player(text, JSON_TYPE));
    for (const name of ["__proto__", "constructor", "prototype"]) {
      const { body } = await refused(
        400,
        "invalid",
        player(`{"custom":{"${name}":{"polluted":true}}}`, JSON_TYPE),
      );
      expect(body.details[0].field).toBe(`custom.${name}`);
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    await refused(
      400,
      "invalid",
      player(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), JSON_TYPE),
    );
    await refused(400, "invalid", player(`{"custom":${"[".repeat(70)}${"]".repeat(70)}}`, JSON_TYPE));
    await refused(
      400,
      "invalid",
      player(`{"custom":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}`, JSON_TYPE),
    );
  });

  test("with an unknown field or a wrong type is refused, and each field is named", async () => {
    const { body } = await refused(400, "invalid", player({ frist_name: "Ann", adt: "much", email: 5 }));
    expect(body.details.map(({ field }: { field: string }) => field).sort()).toEqual([
      "adt",
      "email",
      "frist_name",
    ]);
    await refused(400, "invalid", player({ id: NOWHERE }));
    await refused(400, "invalid", player([]));
  });
});

describe("a query", () => {
  test("with an unknown column, operator, direction or option is refused", async () => {
    const bad = [
      "shoe_size.eq=5",
      "shoe_size=eq.5",
      "adt.resembles=1",
      "adt=1",
      "order=shoe_size.asc",
      "order=adt.upwards",
      "select=password_hash",
      "limit=-1",
      "limit=ten",
      "offset=-1",
      "adt.gt=much",
      "id.eq=5",
      "__proto__.eq=1",
      "constructor=eq.1",
      "email_hash.eq=1",
      "limit=1&limit=2",
      "first_name.eq=%00",
    ];
    for (const query of bad) await refused(400, "invalid", house.get(`/api/players?${query}`));
  });

  test("is data and never SQL", async () => {
    const words = ["' or 1=1 --", "'; drop table players; --", '") or true --', "$1", "\\'"];
    for (const word of words) {
      const { status, text } = await house.get(`/api/players?first_name.eq=${encodeURIComponent(word)}`);
      expect({ status, text }, word).toEqual({ status: 200, text: "[]" });
      await refused(400, "invalid", house.get(`/api/players?order=${encodeURIComponent(word)}`));
      await refused(400, "invalid", house.get(`/api/players?${encodeURIComponent(word)}.eq=1`));
    }
  });

  test("answers at most a thousand rows", async () => {
    await refused(400, "invalid", house.get("/api/players?limit=1001"));
    expect((await house.get("/api/players?limit=1000")).status).toBe(200);
  });
});

describe("a record's address", () => {
  test("that holds no uuid, or not a known one, is no record's", async () => {
    const unknown = await refused(404, "not_found", house.get(`/api/players/${NOWHERE}`));
    expect(unknown.body.error).toContain(NOWHERE);
    for (const id of ["1", "null", "__proto__", "%00", "..%2Fusers", `${NOWHERE}'`]) {
      const answer = await house.get(`/api/players/${id}`);
      expectFrame(answer, id);
      expect([400, 404], `${id} ${answer.text}`).toContain(answer.status);
    }
  });
});

describe("a credential", () => {
  test("that is missing, malformed, unknown or doubled is refused in the specification's words", async () => {
    const wrong: [string, Record<string, string | null>][] = [
      ["missing_credential", { "X-Api-Key": null }],
      ["invalid_credential", { "X-Api-Key": "pk_short" }],
      ["invalid_credential", { "X-Api-Key": `${house.tenant.key.slice(0, -1)}!` }],
      ["invalid_credential", { "X-Api-Key": "pk_000000000000000000000000000000AAAAAA" }],
      ["invalid_credential", { "X-Api-Key": null, Authorization: "Basic dXNlcjpwYXNz" }],
      ["invalid_credential", { "X-Api-Key": null, Authorization: "Bearer eyJhbGciOiJub25lIn0.e30." }],
      ["invalid_credential", { Authorization: `Bearer ${house.tenant.readKey}` }],
      ["invalid_credential", { "X-Api-Key": `${house.tenant.key}, ${house.tenant.readKey}` }],
    ];
    for (const [code, headers] of wrong) {
      const answer = await refused(401, code, house.get("/api/players", headers));
      expect(answer.body.error).toBe(code);
      expect(answer.headers.get("WWW-Authenticate")).toMatch(/^Bearer resource_metadata="http/);
    }
  });

  test("that stands in two X-Api-Key lines is refused, even when one is right", async () => {
    const answer = await raw(
      `GET /api/players HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${house.tenant.key}\r\nX-Api-Key: ${house.tenant.readKey}\r\nConnection: close\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toContain("invalid_credential");
  });

  test("is taken as X-Api-Key, as Bearer, or as both when they are the same", async () => {
    const bearer = { Authorization: `Bearer ${house.tenant.key}` };
    expect((await house.get("/api/players", { "X-Api-Key": null, ...bearer })).status).toBe(200);
    expect((await house.get("/api/players", bearer)).status).toBe(200);
  });

  test("that has expired says so, and one that was revoked is refused at once", async () => {
    const make = (name: string) => house.call("create_api_key", { property_id: house.tenant.id, name });
    const [old, revoked] = [await make("old"), await make("revoked")];
    for (const { api_key: key } of [old, revoked]) {
      expect((await house.get("/api/players", { "X-Api-Key": key })).status).toBe(200);
    }
    await house.database.db.asSystem(async (sql) => {
      await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${old.id}`;
      await sql`update directory_version set version = version + 1`;
      await sql`select pg_notify('directory', '')`;
    });
    await expect
      .poll(async () => (await house.get("/api/players", { "X-Api-Key": old.api_key })).body.error)
      .toBe("credential_expired");
    const { token } = await house.signIn();
    const revoking = await house.post(
      "/api/functions/revoke-api-key",
      { key_id: revoked.id },
      { "X-Api-Key": null, Authorization: `Bearer ${token}` },
    );
    expect(revoking.body).toEqual({ success: true });
    await refused(401, "invalid_credential", house.get("/api/players", { "X-Api-Key": revoked.api_key }));
  });

  test("of a user with several properties needs X-Property-Id", async () => {
    const other = await house.newTenant();
    const user = await house.signIn();
    await house.call("grant_membership", { property_id: other.id, user_id: user.id, role: "analyst" });
    const token = { "X-Api-Key": null, Authorization: `Bearer ${user.token}` };
    await expect.poll(async () => (await house.get("/api/players", token)).status).toBe(400);
    const { body } = await refused(400, "invalid", house.get("/api/players", token));
    expect(body.error).toContain("X-Property-Id");
    expect(body.error).toContain(other.id);
    for (const id of [house.tenant.id, other.id]) {
      expect((await house.get("/api/players", { ...token, "X-Property-Id": id })).status).toBe(200);
    }
    await refused(403, "insufficient_scope", player({}, { ...token, "X-Property-Id": other.id }));
    await refused(400, "invalid", house.get("/api/players", { ...token, "X-Property-Id": "5" }));
  });
});

describe("signing in", () => {
  const ANYONE = { "X-Api-Key": null };
  const login = (email: string, password: string) =>
    house.post("/api/auth/login", { email, password }, ANYONE);

  test("gives a token that says who one is", async () => {
    const user = await house.signIn();
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
      const me = await house.request(method, "/api/auth/me", { headers: bearer });
      expect(me, me.text).toMatchObject({ status: 200, body: { id: user.id, email: user.email } });
    }
    await refused(401, "missing_credential", house.post("/api/auth/me", {}, ANYONE));
  });

  test("fails with the same words for a wrong password and an unknown account, and the sixth try waits", async () => {
    const { email } = await house.signIn();
    const wrong = await refused(401, "invalid_login", login(email, "not the password"));
    const unknown = await refused(401, "invalid_login", login("nobody@example.com", "not the password"));
    expect(wrong.text).toBe(unknown.text);
    for (let tries = 2; tries <= 5; tries++)
      await refused(401, "invalid_login", login(email, "not the password"));
    const { body, headers } = await refused(429, "rate_limited", login(email, "not the password"));
    expect(body.retry_after).toBeGreaterThan(0);
    expect(headers.get("Retry-After")).toBe(String(body.retry_after));
  });
});

describe("the rate limit", () => {
  test("counts down to a 429 that says when to come back", async () => {
    const { api_key: key } = await house.call("create_api_key", {
      property_id: house.tenant.id,
      name: "three",
      rate_limit: 3,
    });
    const answers: Answer[] = [];
    for (let count = 0; count < 5; count++)
      answers.push(await house.get("/api/players", { "X-Api-Key": key }));
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
});

describe("an Idempotency-Key", () => {
  const rows = async (name: string) => (await house.get(`/api/players?first_name.eq=${name}`)).body.length;

  test("answers a repeat with the first answer, and writes nothing again", async () => {
    const keyed = { "Idempotency-Key": "first-of-all" };
    const one = await player({ first_name: "Ida" }, keyed);
    const two = await player({ first_name: "Ida" }, keyed);
    expect(one.status).toBe(201);
    expect(one.headers.get("Idempotency-Replayed")).toBeNull();
    expect({ status: two.status, text: two.text }).toEqual({ status: 201, text: one.text });
    expect(two.headers.get("Idempotency-Replayed")).toBe("true");
    expectFrame(two, "replay");
    expect(await rows("Ida")).toBe(1);
  });

  test("with another body, path or method is refused", async () => {
    const keyed = { "Idempotency-Key": "second" };
    await player({ first_name: "Ira" }, keyed);
    await refused(422, "idempotency_key_reused", player({ first_name: "Ivo" }, keyed));
    await refused(422, "idempotency_key_reused", house.post("/api/templates", { name: "t" }, keyed));
    expect(await rows("Ivo")).toBe(0);
  });

  test("twenty times at once makes one record", async () => {
    const keyed = { "Idempotency-Key": "twenty" };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => player({ first_name: "Twenty" }, keyed)),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    expect(answers.filter(({ headers }) => headers.get("Idempotency-Replayed") === "true")).toHaveLength(19);
    expect(await rows("Twenty")).toBe(1);
  });

  test("that is not 1 to 255 visible characters is refused", async () => {
    for (const key of ["a b", "x".repeat(256), "é"])
      await refused(400, "invalid", player({}, { "Idempotency-Key": key }));
  });

  test("replays a refusal of the domain, and not one of the request", async () => {
    const missing = { "Idempotency-Key": "missing" };
    const change = () =>
      house.request("PATCH", `/api/players/${NOWHERE}`, { body: { first_name: "N" }, headers: missing });
    await refused(404, "not_found", change());
    const replay = await refused(404, "not_found", change());
    expect(replay.headers.get("Idempotency-Replayed")).toBe("true");
    await player({ player_id: "taken" });
    const taken = { "Idempotency-Key": "taken" };
    await refused(409, "conflict", player({ player_id: "taken" }, taken));
    expect((await player({ player_id: "taken" }, taken)).headers.get("Idempotency-Replayed")).toBe("true");
    const wrong = { "Idempotency-Key": "wrong" };
    await refused(400, "invalid", player({ adt: "much" }, wrong));
    expect(await player({ adt: 5 }, wrong)).toMatchObject({ status: 201 });
  });

  test("belongs to the property, whichever of its keys sends it", async () => {
    const other = await house.newTenant();
    const keyed = { "Idempotency-Key": "shared" };
    const one = await player({ first_name: "Una" }, keyed);
    const theirs = await player({ first_name: "Una" }, { ...keyed, "X-Api-Key": other.key });
    expect(theirs.headers.get("Idempotency-Replayed")).toBeNull();
    expect(theirs.body.id).not.toBe(one.body.id);
    await refused(
      403,
      "insufficient_scope",
      player({ first_name: "Una" }, { ...keyed, "X-Api-Key": house.tenant.readKey }),
    );
  });

  test("does not show a secret again", async () => {
    const { token } = await house.signIn();
    const manager = { "X-Api-Key": null, Authorization: `Bearer ${token}`, "Idempotency-Key": "secret" };
    const make = () =>
      house.post("/api/functions/create-api-key", { property_id: house.tenant.id, name: "once" }, manager);
    const [one, two] = [await make(), await make()];
    expect(one.body.api_key).toMatch(/^pk_/);
    expect(two.headers.get("Idempotency-Replayed")).toBe("true");
    expect(two.body).toEqual({ ...one.body, api_key: undefined });
    expect(two.text).not.toContain(one.body.api_key);
    const stored = await house.database.db.asSystem(
      (sql) => sql<{ body: string }[]>`select body from idempotency_records`,
    );
    expect(stored.filter(({ body }) => body?.includes(one.body.api_key))).toEqual([]);
  });
});

describe("what is not HTTP", () => {
  test("is answered in JSON with the same headers", async () => {
    const bad = [
      "NONSENSE\r\n\r\n",
      "GET /api/players HTTP/9.9\r\n\r\n",
      "GET /api/players HTTP/1.1\r\nBad Header\r\n\r\n",
    ];
    for (const text of bad) expectRaw(await raw(text), 400);
    expectRaw(
      await raw(`GET /api/players HTTP/1.1\r\nHost: h\r\nX-Long: ${"x".repeat(40_000)}\r\n\r\n`),
      431,
    );
  });
});

function expectRaw(answer: string, status: number): void {
  const [head, body] = answer.split("\r\n\r\n");
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  for (const name of ["API-Version", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(head).toMatch(new RegExp(`\r\n${name}: \\S+`, "i"));
  }
  expect(JSON.parse(body!)).toMatchObject({ error: expect.any(String), code: expect.any(String) });
}

/** Bytes to the server, and all that it answers before it closes. */
function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(house.baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    // Closing while we still write is an answer too, once something has been said.
    socket.on("error", (error) => (answer ? resolve(answer) : reject(error)));
    socket.on("close", () => resolve(answer));
  });
}
