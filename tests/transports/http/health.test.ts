import { randomUUID } from "node:crypto";
import { pino } from "pino";
import postgres from "postgres";
import { expect, onTestFinished, test, vi } from "vitest";
import { testDatabase } from "../../support/database.ts";
import { startService } from "../../support/service.ts";

async function start(...[overrides, parts]: Parameters<typeof startService>) {
  const service = await startService(overrides, parts);
  onTestFinished(service.stop);
  return service;
}

async function probe(baseUrl: string, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(baseUrl + path, { headers });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

test("a service that is well says so, however often it is asked, and counts it in nobody's rate", async () => {
  const { baseUrl } = await start();
  const probes = Array.from({ length: 20 }, (_, n) => probe(baseUrl, n % 2 ? "/healthz" : "/readyz"));
  const answers = await Promise.all(probes);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers[0]!.body).toEqual({
    status: "ready",
    checks: { database: "ok", migrations: "ok", worker: "ok" },
    sending: "open",
  });
  expect(answers[1]!.body).toEqual({ status: "alive" });
  const anonymous = await fetch(`${baseUrl}/api/openapi.json`);
  expect(anonymous.headers.get("x-ratelimit-remaining")).toBe("599");
});

test("a service whose database is gone lives and is not ready", async () => {
  const database = await testDatabase();
  const service = await startService({ role: "web" }, { database });
  try {
    await database.drop();
    const { status, body } = await probe(service.baseUrl, "/readyz");
    expect([status, body]).toEqual([
      503,
      {
        status: "not_ready",
        checks: { database: "failing", migrations: "failing", worker: "none" },
        sending: "unknown",
      },
    ]);
    expect((await probe(service.baseUrl, "/healthz")).status).toBe(200);
    expect((await probe(service.baseUrl, "/metrics")).status).toBe(200);
  } finally {
    await service.running.stop();
  }
});

test("a service whose database has the migrations of another version is not ready", async () => {
  const service = await start({ role: "web" });
  const admin = postgres(service.database.url, { max: 1 });
  onTestFinished(() => admin.end());
  await admin`insert into migrations (name, checksum) values ('9999_tomorrow.sql', 'x')`;
  const { status, body } = await probe(service.baseUrl, "/readyz");
  expect([status, body.checks]).toEqual([503, { database: "ok", migrations: "failing", worker: "none" }]);
});

test("a worker, which listens nowhere else, answers probes on METRICS_PORT, and says that sending is held", async () => {
  const database = await testDatabase({ isReleased: false });
  const { running } = await start({ role: "worker", metricsPort: 0 }, { database });
  const baseUrl = `http://127.0.0.1:${running.healthListening!.port}`;
  expect((await probe(baseUrl, "/healthz")).status).toBe(200);
  expect(await probe(baseUrl, "/readyz")).toMatchObject({ status: 200, body: { sending: "held" } });
  expect((await probe(baseUrl, "/metrics")).body).toContain("\nsending_open 0\n");
  expect((await probe(baseUrl, "/api/players")).status).toBe(404);
});

test("figures tell of requests, tools, jobs, the queue and the event loop", async () => {
  const service = await start();
  await service.get("/api/players?limit=1");
  await service.get("/api/no-such-thing");
  const file = { type: "player_import", csv: "player_id\nP1\n" };
  await service.call("create_import_job", file, service.tenant.id);
  await service.idle();
  await service.internals.db.asSystem(
    (sql) => sql`
      insert into queue (id, name, input, max_attempts, run_at)
      values (uuid_v7(), 'of_a_newer_version', '{}', 1, now() - interval '1 hour')`,
  );
  const figures = await vi.waitFor(async () => {
    const { body } = await probe(service.baseUrl, "/metrics");
    expect(body).toContain("of_a_newer_version");
    return body as string;
  }, 20_000);
  for (const line of [
    /^http_request_duration_seconds_count\{method="GET",route="\/api\/players",status="200"\} [1-9]/m,
    /^http_request_duration_seconds_count\{method="GET",route="none",status="404"\} [1-9]/m,
    /^tool_call_duration_seconds_count\{tool="create_import_job",transport="cli",outcome="ok"\} [1-9]/m,
    /^job_duration_seconds_count\{job="import_players",outcome="done"\} [1-9]/m,
    /^queue_jobs\{job="of_a_newer_version",state="due"\} 1$/m,
    /^queue_oldest_due_seconds\{job="of_a_newer_version"\} 36\d\d/m,
    /^sending_open 1$/m,
    /^nodejs_eventloop_lag_p99_seconds /m,
  ]) {
    expect(figures).toMatch(line);
  }
  expect(figures).not.toContain(service.tenant.id);
});

test("figures are for programs of this machine, unless they have a port of their own", async () => {
  const service = await start({ role: "web" });
  expect((await probe(service.baseUrl, "/metrics")).status).toBe(200);
  const stranger = { "X-Forwarded-For": "203.0.113.5" };
  expect((await probe(service.baseUrl, "/metrics", stranger)).status).toBe(404);
  const apart = await start({ role: "web", metricsPort: 0 });
  expect((await probe(apart.baseUrl, "/metrics")).status).toBe(404);
});

interface Line {
  level: number;
  msg: string;
  [field: string]: unknown;
}

function logging(level = "info") {
  const lines: Line[] = [];
  const log = pino({ level, base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, of: (msg: string) => lines.filter((line) => line.msg === msg), lines };
}

test("a request leaves one line, and nothing in it is of a person", async () => {
  const { log, of, lines } = logging();
  const { baseUrl, tenant } = await start({ role: "web" }, { log });
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const requestId = randomUUID();
  const headers = {
    "X-Api-Key": tenant.key,
    "X-Request-Id": requestId,
    traceparent: `00-${trace}-00f067aa0ba902b7-01`,
  };
  await (await fetch(`${baseUrl}/api/players?email.eq=ana@example.com`, { headers })).text();
  await (await fetch(`${baseUrl}/c/secret-token`)).text();
  await (await fetch(`${baseUrl}/ana@example.com`, { headers: { "X-Request-Id": "for-ana" } })).text();
  await expect.poll(() => of("request")).toHaveLength(3);
  expect(of("request")).toMatchObject([
    {
      method: "GET",
      route: "/api/players",
      status: 200,
      ms: expect.any(Number),
      requestId,
      trace,
      operation: "list_players",
      property: tenant.id,
      actor: expect.stringMatching(/^api_key [0-9a-f-]{36}$/),
    },
    { route: "/c/:token", trace: expect.stringMatching(/^[0-9a-f]{32}$/) },
    { route: "none", status: 404 },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/ana@|for-ana|secret-token|pk_/);
});

test("a request's trace goes on in its job, and a wrong one is replaced", async () => {
  const { log, of } = logging();
  const service = await start({}, { log });
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const body = { type: "player_import", csv: "player_id\nP1\n" };
  for (const traceparent of [`00-${trace}-b7ad6b7169203331-00`, `00-${"0".repeat(32)}-b7ad6b7169203331-00`]) {
    await service.post("/api/import_jobs", body, { traceparent });
  }
  await service.idle();
  const jobs = await vi.waitFor(() => {
    const found = of("job done").filter(({ job }) => job === "import_players");
    expect(found).toHaveLength(2);
    return found;
  }, 20_000);
  const requests = of("request").filter(({ operation }) => operation === "create_import_job");
  expect(requests.map((line) => line.trace)).toEqual([
    trace,
    expect.stringMatching(/^(?!0{32})[0-9a-f]{32}$/),
  ]);
  expect(new Set(jobs.map((line) => line.trace))).toEqual(new Set(requests.map((line) => line.trace)));
});

test("in an outage of the database a refused request is one line without a stack", async () => {
  const { log, lines } = logging("warn");
  const database = await testDatabase();
  const service = await startService({ role: "web" }, { database, log });
  try {
    await database.drop();
    lines.length = 0;
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        fetch(`${service.baseUrl}/api/players`, { headers: { "X-Api-Key": service.tenant.key } }),
      ),
    );
    await Promise.all(answers.map((answer) => answer.text()));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(503));
    const told = await vi.waitFor(() => {
      const found = lines.filter(({ msg }) => /request/.test(msg));
      expect(found).toHaveLength(5);
      return found;
    }, 20_000);
    for (const line of told)
      expect(line).toMatchObject({ level: 40, msg: "request", status: 503, reason: expect.any(String) });
    expect(JSON.stringify(told)).not.toContain("at ");
  } finally {
    await service.running.stop();
  }
});
