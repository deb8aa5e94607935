import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { raw } from "../../support/answers.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

/** Every answer under /api is JSON with the version and the rate limit, from every layer. */
function expectWhole(answer: string, status: number | number[], about: string): string {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect([status].flat(), `${about}: ${answer.slice(0, 200)}`).toContain(
    Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]),
  );
  expect(head, about).toMatch(new RegExp(`\r\napi-version: ${CURRENT_VERSION}\r?\n?`, "i"));
  for (const name of ["limit", "remaining", "reset"]) {
    expect(head, about).toMatch(new RegExp(`\r\nx-ratelimit-${name}: \\d+(\r\n|$)`, "i"));
  }
  expect(head, about).toMatch(/\r\ncontent-type: application\/json/i);
  const json = body.startsWith("{") || body.startsWith("[") ? body : body.slice(body.indexOf("{"));
  const text = /\r\ntransfer-encoding: chunked/i.test(head)
    ? json.replace(/\r\n[0-9a-f]+(\r\n|$)/g, "")
    : json;
  const parsed: unknown = JSON.parse(text);
  if (Number(head.slice(9, 12)) >= 400) {
    expect(parsed, about).toMatchObject({ error: expect.any(String), code: expect.any(String) });
  }
  return head;
}

const request = (line: string, headers: string[], body = "") =>
  `${line} HTTP/1.1\r\n${headers.map((header) => `${header}\r\n`).join("")}Connection: close\r\n\r\n${body}`;
const key = () => `X-Api-Key: ${service.tenant.key}`;
const HOST = "Host: 127.0.0.1";
const ask = (text: string) => raw(service.baseUrl, text);
const LIST = "GET /api/players";

describe("a raw request", () => {
  test("without a Host, or with one that is none, is answered or refused like any other", async () => {
    expectWhole(await ask(request(LIST, [key()])), [200, 400], "no Host");
    for (const host of ["", " ", "a b", "http://x", "[::1", "x:99999", "a/b", "\u00e9", "x".repeat(300)]) {
      expectWhole(await ask(request(LIST, [`Host: ${host}`, key()])), [200, 400], `Host ${host}`);
    }
    expectWhole(await ask(request(LIST, [HOST, "Host: other", key()])), 400, "two Hosts");
  });

  test("with an expectation that nobody knows, or with 100-continue, is answered", async () => {
    const body = '{"tier":"Expect"}';
    const type = ["Content-Type: application/json", `Content-Length: ${body.length}`];
    for (const expectation of ["Expect: 200-maybe", "Expect: nonsense"]) {
      const post = request("POST /api/players", [HOST, key(), expectation, ...type], body);
      expectWhole(await ask(post), [201, 417], expectation);
    }
    const both = await ask(
      request("POST /api/players", [HOST, key(), "Expect: 100-continue", ...type], body),
    );
    expectWhole(both.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, ""), 201, "100-continue");
  });

  test("whose target is no path, or whose method is none of ours, is refused", async () => {
    const odd: [string, number[]][] = [
      ["OPTIONS *", [400, 404, 405]],
      ["OPTIONS /api/players", [405]],
      ["TRACE /api/players", [400, 405]],
      ["PUT /api/players", [405]],
      ["PROPFIND /api/players", [405]],
      ["FOO /api/players", [400]],
      ["GET //api/players", [400, 404]],
      ["GET /api/../api/no_such", [400, 404]],
      ["GET /api/players/%00", [400]],
      ["GET /api/players?%ff", [400]],
      ["GET http://other.example/api/players", [200, 400, 404]],
      ["CONNECT example.com:443", [400, 404, 405]],
    ];
    for (const [line, statuses] of odd) {
      expectWhole(await ask(request(line, [HOST, key()])), statuses, line);
    }
    expectWhole(await ask("NONSENSE\r\n\r\n"), 400, "nonsense");
    expectWhole(await ask(`${LIST} HTTP/3.0\r\n\r\n`), [400], "another HTTP");
  });

  test("with two credentials, alike or not, in one header or two, has none", async () => {
    const bearer = (secret: string) => `Authorization: Bearer ${secret}`;
    const { key: own, readKey } = service.tenant;
    const doubled = [
      [bearer(own), bearer(readKey)],
      [bearer(own), bearer(own)],
      [`X-Api-Key: ${own}`, `X-Api-Key: ${readKey}`],
      [`X-Api-Key: ${own}`, `X-Api-Key: ${own}`],
      [`X-Api-Key: ${own}`, bearer(readKey)],
      [bearer(`${own}, Bearer ${readKey}`)],
    ];
    for (const headers of doubled) {
      const about = headers.map((header) => header.slice(0, 20)).join(" and ");
      const head = expectWhole(await ask(request(LIST, [HOST, ...headers])), 401, about);
      expect(head, about).toMatch(/\r\nwww-authenticate: Bearer resource_metadata=/i);
    }
    expectWhole(
      await ask(request(LIST, [HOST, `X-Api-Key: ${own}`, bearer(own)])),
      200,
      "one key, twice said",
    );
  });

  test("whose address holds the ids of a whole page, as clients write them, is answered", async () => {
    const ids = Array.from({ length: 1_000 }, () => randomUUID()).join("%2C");
    expectWhole(await ask(request(`${LIST}?id=in.%28${ids}%29`, [HOST, key()])), 200, "1,000 ids");
  });

  test("with headers that are too large, or a body that is no body, is refused", async () => {
    expectWhole(await ask(request(LIST, [HOST, key(), `X-Long: ${"x".repeat(50_000)}`])), 431, "large");
    expectWhole(await ask(request(`${LIST}?tier.in=(${"x".repeat(50_000)})`, [HOST, key()])), 431, "address");
    expectWhole(
      await ask(request(LIST, [HOST, key(), ...Array.from({ length: 3_000 }, (_, n) => `X-${n}: xxxxxxx`)])),
      431,
      "many",
    );
    const post = (headers: string[], body: string) =>
      ask(request("POST /api/players", [HOST, key(), "Content-Type: application/json", ...headers], body));
    const chunked = "Transfer-Encoding: chunked";
    for (const body of [
      "zz\r\n{}\r\n0\r\n\r\n",
      "-1\r\n",
      "5\r\n{}\r\n0\r\n\r\n{}{}",
      "ffffffffffffffffff\r\n{}",
    ]) {
      expectWhole(await post([chunked], body), 400, JSON.stringify(body));
    }
    expectWhole(await post([chunked, "Content-Length: 2"], "{}"), 400, "two lengths");
    expectWhole(await post(["Content-Length: 2", "Content-Length: 3"], "{}"), 400, "two numbers");
    expectWhole(await post(["Content-Length: x"], "{}"), 400, "no number");
    expectWhole(await post(["Content-Length: -2"], "{}"), 400, "negative");
    expectWhole(await post(["Transfer-Encoding: gzip"], "{}"), [400, 501], "another encoding");
  });

  test("that takes too long to arrive is refused, and its connection ends", async () => {
    const { server } = service.running.listening!;
    const usual = server.headersTimeout;
    server.headersTimeout = 100;
    try {
      expectWhole(await ask(`${LIST} HTTP/1.1\r\n${HOST}\r\nX-Slow: `), 408, "slow headers");
    } finally {
      server.headersTimeout = usual;
    }
  });
});
