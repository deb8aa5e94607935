import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { CATALOG } from "#tools/catalog.ts";
import { expectFrame, raw, refused } from "../../support/answers.ts";
import { NOWHERE } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service?.stop());

const player = (body: unknown, headers?: Record<string, string | null>) =>
  service.post("/api/players", body, headers);

describe("every response under /api", () => {
  test("carries the version and the rate limit, on every route and method", async () => {
    const paths = new Set(
      [...CATALOG.operations.values()].flatMap((one) => routesOf(one).map(([path]) => path)),
    );
    for (const path of [
      "/api/mcp",
      "/api/openapi.json",
      "/api/mcp/server-card",
      "/api/nothing",
      "/api",
      ...[...paths].filter((_, index) => isFull || index % 3 === 0),
    ]) {
      const address = path.replace("{id}", NOWHERE);
      for (const method of ["GET", "PUT", "POST"]) {
        const answer = await service.request(method, address, method === "POST" ? { body: {} } : {});
        expectFrame(answer, `${method} ${path}`);
        expect(answer.status, `${method} ${path} ${answer.text}`).toBeLessThan(500);
        if (answer.status === 405) expect(answer.headers.get("Allow"), path).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
      }
    }
  });

  test("says so when nothing answers there, or not that method", async () => {
    await refused(404, "not_found", service.get("/api/no_such_table"));
    await refused(404, "not_found", service.get("/api/__proto__"));
    await refused(404, "not_found", service.get("/api/constructor"));
    await refused(404, "not_found", service.get("/api/pg_catalog.pg_authid"));
    await refused(404, "not_found", service.post("/api/functions/no-such-function", {}));
    const { headers } = await refused(405, "method_not_allowed", service.request("PUT", "/api/players"));
    expect(headers.get("Allow")).toBe("GET, POST, PATCH, DELETE");
    const record = await refused(
      405,
      "method_not_allowed",
      service.request("POST", `/api/players/${NOWHERE}`, { body: {} }),
    );
    expect(record.headers.get("Allow")).toBe("GET, PATCH, DELETE");
    const read = await refused(405, "method_not_allowed", service.post("/api/audit_logs", {}));
    expect(read.headers.get("Allow")).toBe("GET");
    for (const rows of ["import_jobs/:id/errors", "validation_jobs/:id/results"]) {
      const path = `/api/${rows.replace(":id", NOWHERE)}`;
      const { headers: given } = await refused(405, "method_not_allowed", service.post(path, {}));
      expect(given.get("Allow"), rows).toBe("GET");
    }
  });

  test("honors a version that it knows, and lists them for one that it does not", async () => {
    expect((await service.get("/api/players", { "API-Version": CURRENT_VERSION })).status).toBe(200);
    for (const version of ["2020-01-01", "latest", ""]) {
      const { body } = await refused(
        400,
        "invalid",
        service.get("/api/players", { "API-Version": version || "x" }),
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

  test("that is packed is refused, a file too: read as it is, it would be something else", async () => {
    const packed = { "Content-Encoding": "gzip" };
    const bytes = gzipSync('{"first_name":"Ann"}');
    const { body } = await refused(415, "unsupported_media_type", player(bytes, { ...JSON_TYPE, ...packed }));
    expect(body.error).toContain("gzip");
    const file = gzipSync("player_id\nA1\n");
    const text = { "Content-Type": "text/csv", ...packed };
    await refused(415, "unsupported_media_type", service.post("/api/import_jobs", file, text));
    expect((await service.post("/api/mcp", bytes, { ...JSON_TYPE, ...packed })).status).toBe(415);
    expect((await player({}, { "Content-Encoding": "identity" })).status).toBe(201);
  });

  test("that is larger than a megabyte is refused, with its length or without", async () => {
    const large = JSON.stringify({ first_name: "x".repeat(1_100_000) });
    await refused(413, "too_large", player(large, JSON_TYPE));
    const { hostname, port } = new URL(service.baseUrl);
    const chunk = "x".repeat(1_100_000);
    const head = `POST /api/players HTTP/1.1\r\nHost: ${hostname}:${port}\r\nX-Api-Key: ${service.tenant.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const answer = await raw(service.baseUrl, `${head}${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`);
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
    for (const query of bad) await refused(400, "invalid", service.get(`/api/players?${query}`));
  });

  test("is data and never SQL", async () => {
    const words = ["' or 1=1 --", "'; drop table players; --", '") or true --', "$1", "\\'"];
    for (const word of words) {
      const { status, text } = await service.get(`/api/players?first_name.eq=${encodeURIComponent(word)}`);
      expect({ status, text }, word).toEqual({ status: 200, text: "[]" });
      await refused(400, "invalid", service.get(`/api/players?order=${encodeURIComponent(word)}`));
      await refused(400, "invalid", service.get(`/api/players?${encodeURIComponent(word)}.eq=1`));
    }
  });

  test("answers at most a thousand rows", async () => {
    await refused(400, "invalid", service.get("/api/players?limit=1001"));
    expect((await service.get("/api/players?limit=1000")).status).toBe(200);
  });
});

describe("a record's address", () => {
  test("that holds no uuid, or not a known one, is no record's", async () => {
    const unknown = await refused(404, "not_found", service.get(`/api/players/${NOWHERE}`));
    expect(unknown.body.error).toContain(NOWHERE);
    for (const id of ["1", "null", "__proto__", "%00", "..%2Fusers", `${NOWHERE}'`]) {
      await refused(400, "invalid", service.get(`/api/players/${id}`));
    }
  });
});

describe("a request that is not HTTP", () => {
  test("is answered in JSON with the same headers", async () => {
    const bad = [
      "NONSENSE\r\n\r\n",
      "GET /api/players HTTP/9.9\r\n\r\n",
      "GET /api/players HTTP/1.1\r\nBad Header\r\n\r\n",
    ];
    for (const text of bad) expectRaw(await raw(service.baseUrl, text), 400);
    expectRaw(
      await raw(
        service.baseUrl,
        `GET /api/players HTTP/1.1\r\nHost: h\r\nX-Long: ${"x".repeat(50_000)}\r\n\r\n`,
      ),
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
