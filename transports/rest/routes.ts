import { invalid } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { methodsOf, pathOf } from "#runtime/operation/rest-paths.ts";
import type { Table, Verb } from "#runtime/operation/table.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { readBody, readJson } from "#transports/http/body.ts";
import { type AdmittedRequest, type Http, route } from "#transports/http/handlers.ts";
import { answerFile, answerOutcome, answerZip, pageInfoHeaders } from "./answers.ts";
import { list } from "./list.ts";
import { keyed, preferences, refuseOptions } from "./options.ts";
import { create, matching, one } from "./records.ts";

/** Every operation of the catalog as a route under /api. */
export function mountRest(app: Http, control: AdmissionControl, service: Service, catalog: Catalog): void {
  for (const operation of catalog.operations.values()) {
    if (operation.crud) continue;
    app.on(
      [...methodsOf(operation)],
      pathOf(operation),
      route(control, service, operation, (request) => callFunction(service, operation, request)),
    );
  }
  for (const table of catalog.tables.values()) mountTable(app, control, service, catalog, table);
}

async function callFunction(
  service: Service,
  operation: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query } = request;
  refuseOptions(query, operation.zipped ? ZIP_OPTIONS : undefined);
  const format = query.get("format") ?? "json";
  if (format !== "json" && format !== "zip") throw invalid("format", "must be json or zip");
  // Only for its refusals: a function's answer has one form.
  preferences(c);
  const bytes = c.req.method === "GET" ? Buffer.alloc(0) : await readBody(c.req.raw);
  const input = readJson(c.req.header("content-type") ?? null, bytes);
  const outcome = await invoke(service, operation, keyed(request, bytes, call), input);
  if (outcome.file) return answerFile(request, outcome);
  if (operation.zipped && format === "zip") return answerZip(request, outcome, operation.zipped);
  return answerOutcome(request, outcome, pageInfoHeaders(outcome.page));
}

const ZIP_OPTIONS = new Set(["format"]);

/** The routes of a table, for the verbs that have an operation. */
function mountTable(
  app: Http,
  control: AdmissionControl,
  service: Service,
  catalog: Catalog,
  table: Table,
): void {
  const operations = new Map(
    [...catalog.operations.values()].flatMap((operation) =>
      operation.crud?.table === table ? [[operation.crud.verb, operation] as const] : [],
    ),
  );
  const collection = `/api/${table.name}`;
  const record = `${collection}/:id`;
  const routes: [
    string,
    string,
    Verb,
    (operation: Operation, request: AdmittedRequest) => Promise<Response>,
  ][] = [
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
      route(control, service, operation, (request) => work(operation, request)),
    );
  }
}
