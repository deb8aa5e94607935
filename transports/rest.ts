import type { HttpBindings } from "@hono/node-server";
import type { Hono, Context as HonoContext } from "hono";
import type { Catalog } from "#runtime/catalog.ts";
import { Fault, invalid, toFault } from "#runtime/faults.ts";
import { checkValue } from "#runtime/input.ts";
import { invoke, type Outcome, type Service } from "#runtime/invoke.ts";
import type { Call, Operation, Table, Verb } from "#runtime/operation.ts";
import { upsertOperation } from "#runtime/upsert.ts";
import { deprecationHeaders } from "#runtime/versions.ts";
import { answer, answerFault, type Extra, type Frame } from "./answer.ts";
import { fingerprint, readBody, readJson } from "./body.ts";
import { attachment, bodyOf } from "./files.ts";
import { callOf, type Gate, idempotencyKey, pass } from "./gate.ts";
import { expectOne, grouped, list, OPTIONS, preferences, selection, shaped } from "./rest-tables.ts";

type Env = { Bindings: HttpBindings };
export type Http = Hono<Env>;
export type HttpContext = HonoContext<Env>;

/** One request that has passed the gate. */
export interface Passed {
  c: HttpContext;
  frame: Frame;
  call: Call;
  query: URLSearchParams;
}

/** Runs `work` behind the gate, and answers its faults. */
export function guarded(gate: Gate, work: (request: Passed) => Promise<Response>) {
  return async (c: HttpContext): Promise<Response> => {
    const { incoming } = c.env;
    const passage = await pass(gate, incoming);
    if (passage.fault) return answerFault(passage.frame, passage.fault);
    try {
      const url = incoming.url ?? "/";
      const mark = url.indexOf("?");
      const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1));
      return await work({ c, frame: passage.frame, call: callOf(incoming, passage, "rest"), query });
    } catch (error) {
      return answerFault(passage.frame, toFault(error));
    }
  };
}

/** Every operation of the catalog as a route under /api. */
export function mountRest(app: Http, gate: Gate, service: Service, catalog: Catalog): void {
  for (const operation of catalog.operations.values()) {
    if (operation.crud) continue;
    const path = pathOf(operation);
    app.on(
      methodsOf(operation),
      path,
      guarded(gate, (request) => callFunction(service, operation, request)),
    );
    app.all(
      path,
      guarded(gate, async () => notAllowed(methodsOf(operation))),
    );
  }
  for (const table of catalog.tables.values()) mountTable(app, gate, service, catalog, table);
}

/** Where an operation is reached over REST. */
export function pathOf(operation: Operation): string {
  if (operation.name === "login" || operation.name === "me") return `/api/auth/${operation.name}`;
  return `/api/functions/${operation.name.replaceAll("_", "-")}`;
}

export function methodsOf(operation: Operation): string[] {
  return operation.name === "me" ? ["POST", "GET"] : ["POST"];
}

function notAllowed(methods: string[]): never {
  throw new Fault("method_not_allowed", { message: `Use ${methods.join(" or ")} here.`, allow: methods });
}

async function callFunction(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call } = request;
  const bytes = c.req.method === "GET" ? Buffer.alloc(0) : await readBody(c.req.raw);
  const input = readJson(c.req.header("content-type") ?? null, bytes);
  const outcome = await invoke(service, operation, keyed(request, bytes, call), input);
  if (!outcome.file) return answerOutcome(request, operation, outcome, input);
  const { contentType, flow } = outcome.file;
  return answer(request.frame, 200, bodyOf(flow), {
    contentType,
    headers: {
      "Content-Disposition": attachment(outcome.file),
      ...deprecationHeaders(operation.name, fieldsOf(input)),
    },
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
  operation: Operation,
  outcome: Outcome,
  input: unknown,
  extra: Extra = {},
): Response {
  return answer(frame, outcome.status, outcome.body, {
    ...extra,
    headers: {
      ...extra.headers,
      ...(outcome.replayed && { "Idempotency-Replayed": "true" }),
      ...deprecationHeaders(operation.name, fieldsOf(input)),
    },
  });
}

function fieldsOf(input: unknown): string[] {
  return typeof input === "object" && input !== null ? Object.keys(input) : [];
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
  const search = operations.get("list");
  const routes: [string, string, Verb, (operation: Operation, request: Passed) => Promise<Response>][] = [
    ["GET", collection, "list", (operation, request) => list(service, operation, request)],
    [
      "POST",
      collection,
      "create",
      (operation, request) => create(service, operation, operations.get("update"), request),
    ],
    ["PATCH", collection, "update", (operation, request) => matching(service, search!, operation, request)],
    ["DELETE", collection, "delete", (operation, request) => matching(service, search!, operation, request)],
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
      guarded(gate, (request) => work(operation, request)),
    );
  }
  for (const [path, methods] of allowed)
    app.all(
      path,
      guarded(gate, async () => notAllowed(methods)),
    );
}

async function one(service: Service, operation: Operation, request: Passed): Promise<Response> {
  const { c, call, query } = request;
  const id = recordId(c);
  const bytes = c.req.method === "GET" ? Buffer.alloc(0) : await readBody(c.req.raw);
  const body = readJson(c.req.header("content-type") ?? null, bytes) ?? {};
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Fault("invalid", { message: "The body must be a JSON object." });
  }
  if (Object.hasOwn(body, "id")) throw invalid("id", "is named by the address, not by the body");
  for (const key of query.keys()) throw invalid(key, "unknown option");
  const input = { ...body, id };
  return answerOutcome(
    request,
    operation,
    await invoke(service, operation, keyed(request, bytes, call), input),
    body,
  );
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
  const unknown = [...query.keys()].find((key) => !CREATE_OPTIONS.has(key));
  if (unknown !== undefined) throw invalid(unknown, "unknown option");
  const select = selection(operation, query);
  const bytes = await readBody(c.req.raw);
  const body = readJson(c.req.header("content-type") ?? null, bytes);
  const many = Array.isArray(body);
  if (many && (body.length === 0 || body.length > 1000)) {
    throw new Fault("invalid", { message: "An array must hold 1 to 1000 records." });
  }
  const wants = preferences(c);
  if (many && wants.single) expectOne(body.length);
  const chosen = wants.duplicates ? upsert(operation, change, wants.duplicates, query) : operation;
  const outcome = await invoke(service, chosen, keyed(request, bytes, call), body, { many });
  const location =
    operation.status === 202 && !many ? { Location: `${c.req.path}/${JSON.parse(outcome.body).id}` } : {};
  const shaping = { wants, many, create: !wants.duplicates, select };
  const written = wants.duplicates === "ignore" ? newOnes(outcome) : outcome;
  return answerOutcome(request, operation, shaped(written, shaping), body, { headers: location });
}

/** Without the rows that were left as they are. */
function newOnes(outcome: Outcome): Outcome {
  const rows = JSON.parse(outcome.body) as unknown;
  if (!Array.isArray(rows)) return outcome;
  return { ...outcome, body: JSON.stringify(rows.filter((row) => row !== null)) };
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

/** PATCH and DELETE on a collection: every row that the filters match, in one transaction. */
async function matching(
  service: Service,
  search: Operation,
  operation: Operation,
  request: Passed,
): Promise<Response> {
  const { c, call, query } = request;
  const bytes = await readBody(c.req.raw);
  const body = readJson(c.req.header("content-type") ?? null, bytes) ?? {};
  if (typeof body !== "object" || body === null || Array.isArray(body) || Object.hasOwn(body, "id")) {
    throw new Fault("invalid", { message: "The body must be a JSON object without an id." });
  }
  const filters = [...query].filter(([key]) => key !== "select" && key !== "columns");
  const option = filters.find(([key]) => OPTIONS.has(key));
  if (option) throw invalid(option[0], "does not go with a change of many rows");
  if (filters.length === 0) {
    throw new Fault("invalid", { message: `A ${c.req.method} on a collection needs at least one filter.` });
  }
  const select = selection(operation, query);
  const deletes = operation.crud?.verb === "delete";
  const asked = { filters: grouped(filters), ...(!deletes && { select: "id" }), limit: 1000, count: true };
  const found = await invoke(service, { ...search, scope: "write" }, call, asked);
  if ((found.page?.total ?? 0) > 1000) {
    throw new Fault("invalid", { message: "The filters match more than 1000 rows. Narrow them." });
  }
  const inputs = (JSON.parse(found.body) as { id: string }[]).map(({ id }) => ({ ...(body as object), id }));
  const wants = preferences(c);
  if (wants.single) expectOne(inputs.length);
  const outcome = await invoke(service, operation, keyed(request, bytes, call), inputs, { many: true });
  const rows = deletes && wants.representation ? { ...outcome, body: found.body } : outcome;
  const shaping = {
    wants,
    many: true,
    create: false,
    select: deletes && !wants.representation ? null : select,
  };
  return answerOutcome(request, operation, shaped(rows, shaping), body);
}
