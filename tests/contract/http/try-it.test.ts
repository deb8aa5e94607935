import { afterAll, beforeAll, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { prepareDemo } from "#transports/start/demo/demo.ts";
import { adminLines } from "#transports/start/welcome.ts";
import { isFull } from "../../support/proof-size.ts";
import type { Answer } from "../../support/service.ts";
import { type DemoService, NOBODY, REFUSED, startDemo, turnOf } from "../../transports/start/demo.ts";
import { type Document, endpoints, execute, isOfPeople } from "./examples.ts";

// The API reference as somebody uses it who gives the demo's key and presses Execute everywhere.

let demo: DemoService;
beforeAll(async () => {
  demo = await startDemo();
});
afterAll(() => demo?.service.stop());

/** Of three endpoints that show or delete one record one, and with PROOF=full all: most have the same example. */
function isAsked(method: string, path: string, operationId: string, index: number): boolean {
  const isAlike = method === "delete" || (method === "get" && path.endsWith("/{id}"));
  return isFull || !isAlike || operationId in REFUSED || index % 3 === 0;
}

test("an example works with the demo's key, or the admin's session, or is refused as it is described", async () => {
  const told: string[] = [];
  const met = new Set<string>();
  for (const turn of [0, 1, 2]) {
    const document: Document = (await demo.service.get("/api/openapi.json", NOBODY)).body;
    for (const [index, [path, method, { operationId, responses }]] of endpoints(document).entries()) {
      if (turnOf(operationId) !== turn || !isAsked(method, path, operationId, index)) continue;
      const said = ({ status, text }: Answer) => `${operationId}: ${status} ${text.slice(0, 200)}`;
      let answer = await execute(demo.service, document, path, method, demo.asKey);
      if (!responses[answer.status] && !responses.default) told.push(`${said(answer)} is not described`);
      if (isOfPeople(operationId)) {
        expect([401, 403], said(answer)).toContain(answer.status);
        answer = await execute(demo.service, document, path, method, demo.asAdmin);
      }
      const expected = REFUSED[operationId]?.[0];
      if (expected === undefined ? answer.status >= 300 : answer.status !== expected) told.push(said(answer));
      met.add(operationId);
    }
    if (turn === 0) await demo.use();
  }
  expect(told).toEqual([]);
  expect(met.size).toBeGreaterThan(isFull ? 190 : 130);
  expect(Object.keys(REFUSED).filter((name) => !met.has(name))).toEqual([]);
}, 120_000);

test("a later start tells the way back into the console, where the admin's password is lost", async () => {
  const { service } = demo;
  const { admin } = (await prepareDemo(service.internals, CATALOG, service.idle))!;
  const [, command] = adminLines(admin!);
  const [, name, id] = /tool -- ([a-z-]+) --user-id (\S+) --password '<NEW_PASSWORD>'$/.exec(command!)!;
  const password = "another password";
  await service.call(name!.replaceAll("-", "_"), { user_id: id, password });
  const { status } = await service.post("/api/auth/login", { email: admin!.email, password }, NOBODY);
  expect(status).toBe(200);
});
