import type { Catalog } from "#runtime/catalog.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import type { Operation, Table, Verb } from "#runtime/operation.ts";
import { renamed } from "#runtime/versions.ts";
import { readBody, readJson } from "./body.ts";
import type { Gate } from "./gate.ts";
import { type Http, type Passed, route } from "./guarded.ts";
import { answerFile, answerOutcome, keyed } from "./rest-answers.ts";
import { noteFields } from "./rest-fields.ts";
import { refuseOptions } from "./rest-options.ts";
import { methodsOf, pathOf } from "./rest-places.ts";
import { preferences } from "./rest-preferences.ts";
import { create, matching, one } from "./rest-records.ts";
import { list, placeHeaders } from "./rest-tables.ts";

/** Every operation of the catalog as a route under /api. */
export function mountRest(app: Http, gate: Gate, service: Service, catalog: Catalog): void {
  for (const operation of catalog.operations.values()) {
    if (operation.crud) continue;
    mountFunction(app, { gate, service, catalog }, operation, pathOf(operation));
    const { name, aliases } = operation;
    const deprecations = [...catalog.deprecations, renamed(name, "/docs")];
    for (const alias of aliases) {
      const path = pathOf({ name: alias });
      mountFunction(app, { gate, service, catalog: { ...catalog, deprecations } }, operation, path);
    }
  }
  for (const table of catalog.tables.values()) mountTable(app, gate, service, catalog, table);
}

function mountFunction(
  app: Http,
  { gate, service, catalog }: { gate: Gate; service: Service; catalog: Catalog },
  operation: Operation,
  path: string,
): void {
  app.on(
    [...methodsOf(operation)],
    path,
    route(gate, service, catalog, operation, (request) => callFunction(service, operation, request)),
  );
}

async function callFunction(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call, query } = request;
  refuseOptions(query);
  // For what it refuses: a function's answer has one shape.
  preferences(c);
  const bytes = c.req.method === "GET" ? Buffer.alloc(0) : await readBody(c.req.raw);
  const input = readJson(c.req.header("content-type") ?? null, bytes);
  noteFields(request, operation, input);
  const outcome = await invoke(service, operation, keyed(request, bytes, call), input);
  if (outcome.file) return answerFile(request, outcome);
  return answerOutcome(request, outcome, placeHeaders(outcome.page));
}

/** The routes of a table, for the verbs that the catalog has an operation for. */
function mountTable(app: Http, gate: Gate, service: Service, catalog: Catalog, table: Table): void {
  const operations = new Map(
    [...catalog.operations.values()].flatMap((operation) =>
      operation.crud?.table === table ? [[operation.crud.verb, operation] as const] : [],
    ),
  );
  const collection = `/api/${table.name}`;
  const record = `${collection}/:id`;
  const routes: [string, string, Verb, (operation: Operation, request: Passed) => Promise<Response>][] = [
    ["GET", collection, "list", (operation, request) => list(service, operation, request)],
    [
      "POST",
      collection,
      "create",
      (operation, request) => create(service, operation, operations.get("update"), request),
    ],
    ["PATCH", collection, "update", (operation, request) => matching(service, operation, request)],
    ["DELETE", collection, "delete", (operation, request) => matching(service, operation, request)],
    ["GET", record, "get", (operation, request) => one(service, operation, request)],
    ["PATCH", record, "update", (operation, request) => one(service, operation, request)],
    ["DELETE", record, "delete", (operation, request) => one(service, operation, request)],
  ];
  for (const [method, path, verb, work] of routes) {
    const operation = operations.get(verb);
    if (!operation) continue;
    app.on(
      method,
      path,
      route(gate, service, catalog, operation, (request) => work(operation, request)),
    );
  }
}
