import { OPTIONS } from "#db/query/parse.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { checkReads } from "#runtime/funnel/access.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Outcome, Service } from "#runtime/funnel/service.ts";
import { lockRow } from "#runtime/operation/crud.ts";
import { etagOf, isVersioned, readIfMatch, readTags } from "#runtime/operation/etag.ts";
import { asObject, checkKey, checkValue } from "#runtime/operation/input.ts";
import { lockMatching } from "#runtime/operation/matching.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Row, Verb } from "#runtime/operation/table.ts";
import { upsertOperation } from "#runtime/operation/upsert.ts";
import { answer } from "#transports/http/answer.ts";
import { readBody, readJson } from "#transports/http/body.ts";
import type { AdmittedRequest, HttpContext } from "#transports/http/handlers.ts";
import { answerOutcome, countHeader, newOnes, shaped, successes } from "./answers.ts";
import {
  checkColumns,
  dryRunOf,
  expectMost,
  expectOne,
  keyed,
  preferences,
  refuseOptions,
  selection,
} from "./options.ts";

/** GET, PATCH and DELETE of the record in the address. */
export async function one(
  service: Service,
  operation: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call } = request;
  const { table, verb } = operation.crud!;
  const id = recordId(c);
  const reads = verb === "get";
  const bytes = reads ? Buffer.alloc(0) : await readBody(c.req.raw);
  const body = withoutId(asObject(readJson(c.req.header("content-type") ?? null, bytes)), id);
  const { dry, rest } = reads ? { rest: request.query } : dryRunOf(request, body);
  refuseOptions(rest, reads ? READ_OPTIONS : undefined);
  const select = reads ? selection(operation, request.query) : null;
  const condition = c.req.header("if-match");
  if (condition !== undefined && !isVersioned(table)) throw noEtag();
  const ifMatch = condition === undefined || reads ? undefined : readIfMatch(condition);
  const wants = preferences(c);
  if (!reads) expectMost(wants, 1);
  // With return=representation, a removal answers the removed rows.
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
  const shaping = { wants, table, many: false, select, write: !reads };
  if (reads && isKnown(c, headers.ETag)) return answer(request.frame, 304, null, { headers });
  return answerOutcome(request, shaped(asOne(verb, shows, outcome), shaping), headers);
}

/** The body without the id that the address names too. */
function withoutId({ id: named, ...body }: Record<string, unknown>, id: string): Record<string, unknown> {
  if (named === undefined || (typeof named === "string" && named.toLowerCase() === id.toLowerCase()))
    return body;
  throw invalid("id", "differs from the one in the address, which names the record");
}

/** A replay answers what was recorded, which may be the rows of a removal, or not. */
function asOne(verb: Verb, shows: boolean, outcome: Outcome): Outcome {
  if (verb !== "delete" || outcome.status >= 400) return outcome;
  const [one] = [JSON.parse((shows ? outcome : successes(outcome)).body) as unknown].flat();
  return { ...outcome, body: JSON.stringify(one) };
}

export function noEtag(): Fault {
  return invalid("If-Match", "is only for a request on one record that has an ETag");
}

/** The ETag of a single record's answer. */
function etagHeader({ crud }: Operation, { status, body }: Outcome): Record<string, string> {
  if (!crud || crud.verb === "delete" || status >= 400 || !isVersioned(crud.table)) return {};
  return { ETag: etagOf(JSON.parse(body) as Row) };
}

/** Whether If-None-Match names the record's state: the caller has it. */
function isKnown(c: HttpContext, etag: string | undefined): boolean {
  const condition = c.req.header("if-none-match");
  if (condition === undefined || etag === undefined) return false;
  const tags = readTags("If-None-Match", condition);
  // A read compares weakly (RFC 9110, 13.1.2).
  return tags === "*" || tags.some(({ tag }) => tag === etag);
}

function recordId(c: HttpContext): string {
  const id = c.req.param("id") ?? "";
  checkValue(id, "id");
  return id;
}

const READ_OPTIONS = new Set(["select"]);
const CREATE_OPTIONS = new Set(["select", "columns", "on_conflict"]);

/** POST on a collection: one record or several. */
export async function create(
  service: Service,
  operation: Operation,
  change: Operation | undefined,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query } = request;
  if (c.req.header("if-match") !== undefined) throw noEtag();
  const select = selection(operation, query);
  const bytes = await readBody(c.req.raw, operation.mostBytes);
  const body = readJson(c.req.header("content-type") ?? null, bytes);
  const many = Array.isArray(body);
  const { dry, rest } = dryRunOf(request, body);
  refuseOptions(rest, CREATE_OPTIONS);
  checkColumns(operation, rest, body);
  if (many && (body.length === 0 || body.length > 1000)) {
    throw new Fault("invalid", { message: "An array must hold 1 to 1000 records." });
  }
  const wants = preferences(c);
  if (many && wants.single) expectOne(body.length);
  const chosen = wants.duplicates ? upsert(operation, change, wants.duplicates, query) : operation;
  // An operation with a dry run of its own is told of it as in the body.
  const own = dry !== undefined && Object.hasOwn(chosen.input.shape, "dry_run");
  const outcome = await invoke(service, chosen, keyed(request, bytes, call), own ? tried(body, dry) : body, {
    many,
    ...(dry !== undefined && !own && { dry }),
  });
  const written = wants.duplicates === "ignore" ? newOnes(outcome) : outcome;
  const plural = many || written.body === "[]";
  const headers = {
    ...(!many && locationHeader(c, outcome)),
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

function tried(body: unknown, dry: boolean): unknown {
  return Array.isArray(body)
    ? body.map((one) => ({ ...asObject(one), dry_run: dry }))
    : { ...asObject(body), dry_run: dry };
}

/** The address of a new record, or of a job that continues in the background. */
export function locationHeader(c: HttpContext, { status, body, dry }: Outcome): Record<string, string> {
  return (status === 201 || status === 202) && !dry
    ? { Location: `${c.req.path}/${JSON.parse(body).id}` }
    : {};
}

export function noUpsert({ crud }: Operation): Fault {
  return invalid("Prefer", `records of ${crud!.table.name} cannot be changed`);
}

function upsert(
  create: Operation,
  change: Operation | undefined,
  duplicates: "merge" | "ignore",
  query: URLSearchParams,
): Operation {
  if (!change) throw noUpsert(create);
  const on = query.get("on_conflict");
  return upsertOperation(create, change, {
    on: on === null ? null : on.split(",").map((name) => name.trim()),
    ignore: duplicates === "ignore",
  });
}

/** PATCH and DELETE on a collection: all rows that match the filters, selected and changed in one transaction. */
export async function matching(
  service: Service,
  operation: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query } = request;
  if (call.actor.type === "api_key") checkReads(call.actor, call.actor.propertyId);
  const bytes = await readBody(c.req.raw);
  const body = asObject(readJson(c.req.header("content-type") ?? null, bytes));
  if (Object.hasOwn(body, "id")) throw invalid("id", "belongs in the filters, not in the body");
  if (c.req.header("if-match") !== undefined) throw noEtag();
  const { dry, rest } = dryRunOf(request, body);
  checkColumns(operation, rest, body);
  const filters = [...rest].filter(([key]) => key !== "select" && key !== "columns");
  const option = filters.find(([key]) => OPTIONS.has(key));
  if (option) throw invalid(option[0], "cannot be used with a change of many rows");
  if (filters.length === 0) {
    throw new Fault("invalid", { message: `A ${c.req.method} on a collection needs at least one filter.` });
  }
  for (const [key] of filters) checkKey(key);
  if (query.getAll("select").length > 1) throw invalid("select", "is given twice");
  const select = selection(operation, query);
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
  // The recorded answer of a removal is the removed rows, for callers that ask for them.
  const hides = operation.crud?.verb === "delete" && !wants.representation;
  const answered = hides ? successes(outcome) : outcome;
  const { table } = operation.crud!;
  const shaping = { wants, table, many: true, select: hides ? null : select, write: true };
  return answerOutcome(request, shaped(answered, shaping), countHeader(wants, outcome));
}
