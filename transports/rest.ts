import type { Catalog } from "#runtime/catalog.ts";
import { lockRow } from "#runtime/crud.ts";
import { etagOf, isVersioned, readIfMatch } from "#runtime/etag.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { asObject, checkKey, checkValue } from "#runtime/input.ts";
import { invoke, type Outcome, type Service } from "#runtime/invoke.ts";
import { lockMatching } from "#runtime/matching.ts";
import type { Call, Operation, Row, Table, Verb } from "#runtime/operation.ts";
import { upsertOperation } from "#runtime/upsert.ts";
import { answer } from "./answer.ts";
import { fingerprint, readBody, readJson } from "./body.ts";
import { attachment, bodyOf } from "./files.ts";
import { type Gate, idempotencyKey } from "./gate.ts";
import { guarded, type Http, type HttpContext, notAllowed, type Passed, route } from "./guarded.ts";
import { noteFields } from "./rest-fields.ts";
import { refuseOptions, tryingOf } from "./rest-options.ts";
import { methodsOf, pathOf } from "./rest-places.ts";
import { expectMost, expectOne, preferences } from "./rest-preferences.ts";
import { countHeader, newOnes, type Shaped, selection, shaped, successes } from "./rest-shapes.ts";
import { cursorHeader, list, OPTIONS } from "./rest-tables.ts";

/** Every operation of the catalog as a route under /api. */
export function mountRest(app: Http, gate: Gate, service: Service, catalog: Catalog): void {
  for (const operation of catalog.operations.values()) {
    if (operation.crud) continue;
    const path = pathOf(operation);
    app.on(
      [...methodsOf(operation)],
      path,
      route(gate, service, catalog, operation, (request) => callFunction(service, operation, request)),
    );
    app.all(
      path,
      guarded(gate, async () => notAllowed(methodsOf(operation))),
    );
  }
  for (const table of catalog.tables.values()) mountTable(app, gate, service, catalog, table);
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
  return answerOutcome(request, outcome, cursorHeader(outcome.page));
}

/** An outcome that is a file, at the receiver's pace. */
export function answerFile({ frame }: Passed, { file }: Outcome): Response {
  if (!file) throw new Error("the outcome is no file");
  return answer(frame, 200, bodyOf(file.flow), {
    contentType: file.contentType,
    headers: { "Content-Disposition": attachment(file) },
  });
}

/** The call with its Idempotency-Key, on a request that writes. */
function keyed({ c, query }: Passed, bytes: Buffer, call: Call): Call {
  const key = idempotencyKey(c.env.incoming);
  if (key === undefined || c.req.method === "GET") return call;
  return { ...call, idempotency: { key, fingerprint: fingerprint(c.req.method, c.req.path, query, bytes) } };
}

function answerOutcome(
  { frame }: Passed,
  outcome: Outcome | Shaped,
  headers: Record<string, string>,
): Response {
  return answer(frame, outcome.status, outcome.body, {
    ...("contentType" in outcome && { contentType: outcome.contentType }),
    headers: { ...headers, ...(outcome.replayed && { "Idempotency-Replayed": "true" }) },
  });
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
  const allowed = new Map<string, string[]>([
    [collection, []],
    [record, []],
  ]);
  for (const [method, path, verb, work] of routes) {
    const operation = operations.get(verb);
    if (!operation) continue;
    allowed.get(path)!.push(method);
    app.on(
      method,
      path,
      route(gate, service, catalog, operation, (request) => work(operation, request)),
    );
  }
  for (const [path, methods] of allowed)
    app.all(
      path,
      guarded(gate, async () => notAllowed(methods)),
    );
}

async function one(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call } = request;
  const { table, verb } = operation.crud!;
  const id = recordId(c);
  const reads = verb === "get";
  const bytes = reads ? Buffer.alloc(0) : await readBody(c.req.raw);
  const body = asObject(readJson(c.req.header("content-type") ?? null, bytes));
  if (Object.hasOwn(body, "id")) throw invalid("id", "is named by the address, not by the body");
  // A body that changes one record says itself what is to be tried, where that can be.
  const { dry, rest } = verb === "delete" ? tryingOf(request, body) : { rest: request.query };
  refuseOptions(rest);
  noteFields(request, operation, body);
  const condition = c.req.header("if-match");
  if (condition !== undefined && !isVersioned(table)) throw noEtag();
  const ifMatch = condition === undefined || reads ? undefined : readIfMatch(condition);
  const wants = preferences(c);
  if (!reads) expectMost(wants, 1);
  // Who asks to see what was removed is answered the rows.
  const shows = verb === "delete" && wants.representation;
  const mine = { ...keyed(request, bytes, call), ifMatch };
  const tried = dry === undefined ? {} : { dry };
  const outcome = shows
    ? await invoke(service, operation, mine, body, {
        ...tried,
        choose: async (context) => [await lockRow(context, table, id)],
      })
    : await invoke(service, operation, mine, { ...body, id }, tried);
  const headers = {
    ...etagHeader(operation, outcome),
    ...(reads && wants.count ? { "Content-Range": "0-0/1" } : countHeader(wants, outcome)),
  };
  const shaping = { wants, table, many: false, select: null, write: !reads };
  return answerOutcome(request, shaped(asOne(verb, shows, outcome), shaping), headers);
}

/** A replay answers what was recorded, which may be the rows of a removal, or not. */
function asOne(verb: Verb, shows: boolean, outcome: Outcome): Outcome {
  if (verb !== "delete" || outcome.status >= 400) return outcome;
  const [one] = [JSON.parse((shows ? outcome : successes(outcome)).body) as unknown].flat();
  return { ...outcome, body: JSON.stringify(one) };
}

function noEtag(): Fault {
  return invalid("If-Match", "goes with one record of those that carry an ETag, and not with this request");
}

/** The ETag of an answer that is one record. */
function etagHeader({ crud }: Operation, { status, body }: Outcome): Record<string, string> {
  if (!crud || crud.verb === "delete" || status >= 400 || !isVersioned(crud.table)) return {};
  return { ETag: etagOf(JSON.parse(body) as Row) };
}

function recordId(c: HttpContext): string {
  const id = c.req.param("id") ?? "";
  checkValue(id, "id");
  return id;
}

const CREATE_OPTIONS = new Set(["select", "columns", "on_conflict"]);

async function create(
  service: Service,
  operation: Operation,
  change: Operation | undefined,
  request: Passed,
): Promise<Response> {
  const { c, call, query } = request;
  if (c.req.header("if-match") !== undefined) throw noEtag();
  const select = selection(operation, query);
  const bytes = await readBody(c.req.raw, operation.mostBytes);
  const body = readJson(c.req.header("content-type") ?? null, bytes);
  const many = Array.isArray(body);
  const { dry, rest } = many ? tryingOf(request, body) : { rest: query };
  refuseOptions(rest, CREATE_OPTIONS);
  if (many && (body.length === 0 || body.length > 1000)) {
    throw new Fault("invalid", { message: "An array must hold 1 to 1000 records." });
  }
  noteFields(request, operation, body, select);
  const wants = preferences(c);
  if (many && wants.single) expectOne(body.length);
  const chosen = wants.duplicates ? upsert(operation, change, wants.duplicates, query) : operation;
  const outcome = await invoke(service, chosen, keyed(request, bytes, call), body, {
    many,
    ...(dry !== undefined && { dry }),
  });
  const written = wants.duplicates === "ignore" ? newOnes(outcome) : outcome;
  const plural = many || written.body === "[]";
  const headers = {
    ...(outcome.status === 202 && !many && { Location: `${c.req.path}/${JSON.parse(outcome.body).id}` }),
    ...(!plural && etagHeader(operation, written)),
    ...countHeader(wants, written),
  };
  const { table } = operation.crud!;
  return answerOutcome(
    request,
    shaped(written, { wants, table, many: plural, select, write: true }),
    headers,
  );
}

function upsert(
  create: Operation,
  change: Operation | undefined,
  duplicates: "merge" | "ignore",
  query: URLSearchParams,
): Operation {
  if (!change) throw invalid("Prefer", `records of ${create.crud!.table.name} cannot be changed`);
  const on = query.get("on_conflict");
  return upsertOperation(create, change, {
    on: on === null ? null : on.split(",").map((name) => name.trim()),
    ignore: duplicates === "ignore",
  });
}

/** PATCH and DELETE on a collection: every row that the filters match, chosen and changed in one transaction. */
async function matching(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call, query } = request;
  const bytes = await readBody(c.req.raw);
  const body = asObject(readJson(c.req.header("content-type") ?? null, bytes));
  if (Object.hasOwn(body, "id")) throw invalid("id", "is named by the filters, not by the body");
  if (c.req.header("if-match") !== undefined) throw noEtag();
  const { dry, rest } = tryingOf(request, body);
  const filters = [...rest].filter(([key]) => key !== "select" && key !== "columns");
  const option = filters.find(([key]) => OPTIONS.has(key));
  if (option) throw invalid(option[0], "does not go with a change of many rows");
  if (filters.length === 0) {
    throw new Fault("invalid", { message: `A ${c.req.method} on a collection needs at least one filter.` });
  }
  for (const [key] of filters) checkKey(key);
  if (query.getAll("select").length > 1) throw invalid("select", "is given twice");
  const select = selection(operation, query);
  noteFields(request, operation, body, select);
  const wants = preferences(c);
  const outcome = await invoke(service, operation, keyed(request, bytes, call), body, {
    ...(dry !== undefined && { dry }),
    choose: async (context) => {
      const rows = await lockMatching(context, operation.crud!.table, filters);
      if (wants.single) expectOne(rows.length);
      expectMost(wants, rows.length);
      return rows;
    },
  });
  // A removal's recorded answer is what was removed, for who asks to see it.
  const hides = operation.crud?.verb === "delete" && !wants.representation;
  const answered = hides ? successes(outcome) : outcome;
  const { table } = operation.crud!;
  const shaping = { wants, table, many: true, select: hides ? null : select, write: true };
  return answerOutcome(request, shaped(answered, shaping), countHeader(wants, outcome));
}
