import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectralCore from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { createApp } from "#transports/app/app.ts";
import type { Live } from "#transports/console/live/watch.ts";
import { exampleOf } from "#transports/examples/examples.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import type { Health } from "#transports/http/health.ts";
import type { McpFace } from "#transports/mcp/endpoint.ts";
import { openApi } from "#transports/openapi/document.ts";
import type { Badges } from "#transports/pages/inbox/badges.ts";
import type { OpenCounter } from "#transports/pages/message/opens.ts";
import { undescribed } from "../support/openapi-check.ts";
import { isFull } from "../support/proof-size.ts";
import { startService, type TestService } from "../support/service.ts";

const document = openApi(CATALOG, "https://api.casino.test");

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

test("the OpenAPI document passes redocly's recommended rules", async () => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({
    source: JSON.stringify(document),
    config,
    absoluteRef: "openapi.json",
  });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
    [],
  );
});

/** Spectral takes 20 s for the whole document, which redocly reads. Of a part it may not say which components are unused. */
const UNUSED = "oas3-unused-component";

test("the OpenAPI document passes spectral's recommended rules", async () => {
  const spectral = new spectralCore.Spectral();
  spectral.setRuleset({ extends: [[rulesets.oas as never, "recommended"]] });
  const paths = Object.entries(document.paths as object).filter((_, index) => isFull || index % 4 === 0);
  const problems = await spectral.run(structuredClone({ ...document, paths: Object.fromEntries(paths) }));
  const found = problems.filter(({ code }) => isFull || code !== UNUSED);
  expect(found.map(({ code, message, path }) => [code, message, path.join("/")])).toEqual([]);
}, 120_000);

test("every operation has one place at least, and no operationId twice", () => {
  const paths = document.paths as Record<string, Record<string, { operationId: string }>>;
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  expect(new Set(ids).size).toBe(ids.length);
  expect([...CATALOG.operations.keys()].filter((name) => !ids.includes(name))).toEqual([]);
});

test("a record within the answer of a function is of the same schema as in a list", () => {
  const paths = document.paths as Record<string, { post: Described }>;
  const { content } = paths["/api/functions/pause-campaign"]!.post.responses["200"]!;
  const { schema } = content!["application/json"] as { schema: { properties: Record<string, object> } };
  expect(schema.properties.campaign).toEqual({ $ref: "#/components/schemas/Campaign" });
});

interface Described {
  operationId: string;
  parameters?: { name: string; example?: unknown }[];
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, { content?: Record<string, { schema: object }> }>;
}
const described = Object.entries(document.paths as Record<string, Record<string, Described>>).flatMap(
  ([path, methods]) => Object.values(methods).map((one) => ({ path, ...one })),
);

test("every body has an example, whose ids are those of records, and no list is filtered by one", () => {
  for (const { operationId, parameters = [], requestBody } of described) {
    if (requestBody) {
      expect(requestBody.content["application/json"]?.example, operationId).toBeTypeOf("object");
      for (const [type, { example }] of Object.entries(requestBody.content))
        expect(example, `${operationId} ${type}`).toBeTruthy();
    }
    const filters = parameters.find(({ name }) => name === "filters")?.example;
    if (/^list_/.test(operationId) && filters !== undefined) expect(filters, operationId).toEqual({});
  }
  for (const operation of CATALOG.operations.values()) {
    const { success, error } = operation.input.safeParse(exampleOf(operation));
    expect(success, `${operation.name} ${error}`).toBe(true);
  }
});

test("no field of a request has a default, which makers of types take for required, and each answer is one schema", () => {
  const { schemas } = document.components as { schemas: Record<string, object> };
  const inputs = Object.entries(schemas).filter(([name]) => /^New|Input$/.test(name));
  const bodies = described.map(({ operationId, requestBody }) => [operationId, requestBody ?? {}] as const);
  for (const [name, schema] of [...inputs, ...bodies]) {
    expect(JSON.stringify(schema), name).not.toMatch(/"default":/);
  }
  for (const { operationId, responses } of described) {
    const created = responses[201]?.content?.["application/json"]?.schema;
    if (created) expect(Object.keys(created), operationId).not.toContain("anyOf");
  }
});

test("an answer that the document does not describe is noticed", () => {
  const answer = {
    ...{ method: "GET", path: "/api/players", headers: {}, contentType: "application/json" },
    answered: new Headers(),
  };
  expect(undescribed({ ...answer, status: 200, body: [] })).toBeNull();
  expect(undescribed({ ...answer, status: 200, body: [{ id: "1" }] })).toContain(
    "must have required property",
  );
  expect(undescribed({ ...answer, status: 202, body: {} })).toContain("202 is not described");
  expect(undescribed({ ...answer, status: 404, body: { error: 1 } })).toMatch(/404/);
  expect(undescribed({ ...answer, status: 200, contentType: "text/html", body: null })).toContain(
    "text/html",
  );
  const located = { ...answer, answered: new Headers({ Location: "/api/players/1" }) };
  expect(undescribed({ ...located, status: 200, body: [] })).toContain("location");
  const created = { ...answer, method: "POST", status: 201 };
  expect(undescribed({ ...created, body: [] })).toContain("must be object");
  expect(undescribed({ ...created, many: true, body: [] })).toBeNull();
  const minimal = { ...created, headers: { prefer: "return=minimal" } };
  expect(undescribed({ ...minimal, body: { id: "1", name: "2" } })).toContain("must NOT have more than");
  expect(undescribed({ ...created, headers: { prefer: "return=representation" }, body: [] })).toBeNull();
});

test("the viewer at /docs/api needs no other host", async () => {
  const { status, text, headers } = await service.get("/docs/api");
  expect(status).toBe(200);
  expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path!);
  expect(files).toContain("/docs/swagger-ui-bundle.js");
  for (const file of files) expect((await service.get(file)).status, file).toBe(200);
  expect(text.match(/(?:src|href)="https?:/)).toBeNull();
});

test("every route under /api is described, and nothing is described that is not there", () => {
  const app = createApp(service.internals, CATALOG, {} as AdmissionControl, {
    opens: {} as OpenCounter,
    badges: {} as Badges,
    live: {} as Live,
    mcp: {} as McpFace,
    health: {} as Health,
  });
  const answered = app.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/api/"))
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);
  const described = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // It answers every method itself.
  answered.push("POST /api/mcp");
  // Documents about the other routes, by standards of their own.
  const documents = ["GET /api/openapi.json", "GET /api/mcp/server-card"];
  expect(answered.filter((route) => !described.includes(route) && !documents.includes(route))).toEqual([]);
  expect(described.filter((route) => !answered.includes(route))).toEqual([]);
});
