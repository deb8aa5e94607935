import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import type { Answer } from "../../support/service.ts";
import { type DemoService, NOBODY, REFUSED, startDemo, turnOf } from "../../transports/start/demo.ts";

// The API reference as somebody uses it who gives the demo's key and presses Execute everywhere.

interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  example?: unknown;
  schema: { default?: unknown };
}

interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}

interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { parameters: Record<string, Parameter> };
}

let demo: DemoService;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.service.stop());

test("an example works with the demo's key, or the admin's session, or is refused as it is described", async () => {
  const told: string[] = [];
  const met = new Set<string>();
  for (const turn of [0, 1, 2]) {
    const document: Document = (await demo.service.get("/api/openapi.json", NOBODY)).body;
    for (const [path, method, { operationId, responses }] of endpoints(document)) {
      if (turnOf(operationId) !== turn) continue;
      const said = ({ status, text }: Answer) => `${operationId}: ${status} ${text.slice(0, 200)}`;
      let answer = await execute(document, path, method, demo.asKey);
      if (!responses[answer.status] && !responses.default) told.push(`${said(answer)} is not described`);
      if (isOfPeople(operationId)) {
        expect([401, 403], said(answer)).toContain(answer.status);
        answer = await execute(document, path, method, demo.asAdmin);
      }
      const expected = REFUSED[operationId]?.[0];
      if (expected === undefined ? answer.status >= 300 : answer.status !== expected) told.push(said(answer));
      met.add(operationId);
    }
    if (turn === 0) await demo.use();
  }
  expect(told).toEqual([]);
  expect(met.size).toBeGreaterThan(190);
  expect(Object.keys(REFUSED).filter((name) => !met.has(name))).toEqual([]);
}, 120_000);

/** Whether only a person who has signed in may do it. */
function isOfPeople(operationId: string): boolean {
  const operation = CATALOG.operations.get(operationId.replace(/_(matching|get)$/, ""));
  return operation !== undefined && !["property", "public"].includes(operation.access);
}

function endpoints({ paths }: Document): [string, string, Described][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): [string, string, Described] => [path, method, one]),
  );
}

/** The request of the viewer: each parameter's example or default, and the body's example. */
function execute(
  { paths, components }: Document,
  path: string,
  method: string,
  credential: Record<string, string | null>,
): Promise<Answer> {
  const { parameters = [], requestBody } = paths[path]![method]!;
  const headers: Record<string, string | null> = { Accept: "application/json", ...credential };
  const query = new URLSearchParams();
  let address = path;
  for (const given of parameters) {
    const one = given.$ref ? components.parameters[given.$ref.split("/").at(-1)!]! : given;
    const value = one.example ?? one.schema?.default;
    if (value === undefined) continue;
    if (one.in === "path") address = address.replace(`{${one.name}}`, String(value));
    else if (one.in === "header") headers[one.name] = String(value);
    else if (typeof value !== "object") query.append(one.name, String(value));
    else for (const [name, text] of Object.entries(value as object)) query.append(name, text);
  }
  const body = requestBody?.content["application/json"]?.example;
  const at = query.size > 0 ? `${address}?${query}` : address;
  return demo.service.request(method.toUpperCase(), at, { ...(body !== undefined && { body }), headers });
}
