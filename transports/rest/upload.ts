import { createHash, type Hash, randomUUIDv7 } from "node:crypto";
import type { z } from "zod";
import { invalid, loggedFault, toFault } from "#runtime/faults.ts";
import { resolveProperty } from "#runtime/funnel/access.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { kindOf } from "#runtime/operation/field-kind.ts";
import { asObject, foldCasing, parseJson } from "#runtime/operation/input.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import createImportJob from "#tools/imports/create-import-job.ts";
import { dropUpload, receiveFile } from "#tools/imports/upload.ts";
import { type AdmissionControl, idempotencyKey } from "#transports/http/admission.ts";
import { answerFault } from "#transports/http/answer.ts";
import { checkCharset } from "#transports/http/body.ts";
import { type AdmittedRequest, type Http, route } from "#transports/http/handlers.ts";
import { answerOutcome, countHeader, shaped } from "./answers.ts";
import { preferences } from "./options.ts";
import { locationHeader, noEtag, noUpsert } from "./records.ts";
import { checkDeclared, receiveParts, receiveText, type Store } from "./upload-body.ts";

const COLLECTION = "/api/import_jobs";
const FILE_TYPES = /^(multipart\/form-data|text\/csv)\b/i;

/** Files sent to POST /api/import_jobs. JSON bodies go on to the table. */
export function mountImports(app: Http, control: AdmissionControl, service: Service, catalog: Catalog): void {
  const create = catalog.operations.get(createImportJob.name);
  if (!create) return;
  const receive = route(control, service, create, (request) => receiveImport(service, create, request));
  app.post(COLLECTION, (c, next) =>
    FILE_TYPES.test(c.req.header("content-type") ?? "") ? receive(c) : next(),
  );
}

async function receiveImport(
  service: Service,
  operation: Operation,
  request: AdmittedRequest,
): Promise<Response> {
  const { c, call, query, frame } = request;
  const { incoming } = c.env;
  try {
    const property = await resolveProperty(service.directory, operation, call, []);
    const key = idempotencyKey(incoming);
    checkDeclared(incoming);
    if (c.req.header("if-match") !== undefined) throw noEtag();
    const wants = preferences(c);
    if (wants.duplicates) throw noUpsert(operation);
    const upload = { propertyId: property.id, id: randomUUIDv7() };
    const hash = createHash("sha256").update(`POST\n${COLLECTION}\n${sorted(query)}\n`);
    const store: Store = async (file, filename) => {
      await receiveFile(service.db, { ...upload, filename }, hashed(file, hash));
    };
    try {
      const params = await receiveBody(operation, request, store, hash);
      const idempotency = key === undefined ? undefined : { key, fingerprint: hash.digest() };
      const input = { ...params, upload_id: upload.id };
      const outcome = await invoke(service, operation, { ...call, idempotency }, input);
      if (outcome.replayed || outcome.status >= 400) await forget(service, upload);
      const { table } = operation.crud!;
      const answered = shaped(outcome, { wants, table, many: false, select: null, write: true });
      return answerOutcome(request, answered, {
        ...locationHeader(c, outcome),
        ...countHeader(wants, outcome),
      });
    } catch (error) {
      await forget(service, upload);
      throw error;
    }
  } catch (error) {
    const { requestId } = frame;
    const fault = loggedFault(service.log, error, { operation: operation.name, requestId });
    // The rest of the body is not worth reading.
    return answerFault(frame, fault, { Connection: "close" });
  }
}

async function receiveBody(
  operation: Operation,
  { c, query }: AdmittedRequest,
  store: Store,
  hash: Hash,
): Promise<Record<string, unknown>> {
  const { incoming } = c.env;
  if (/^text\/csv/i.test(c.req.header("content-type") ?? "")) {
    checkCharset(c.req.header("content-type") ?? null);
    const params = checked(operation, paramsOf(operation, query));
    await receiveText(incoming, store);
    return params;
  }
  for (const name of query.keys()) throw invalid(name, "belongs in the part params");
  const text = await receiveParts(incoming, store);
  // The boundary between the parts changes with each try; the contents do not.
  hash.update(`\n${text}`);
  return checked(operation, asObject(paramsFrom(text)));
}

/** The part `params`. Throws `invalid` naming the part, not the body around it. */
function paramsFrom(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const { message } = toFault(error);
    throw invalid("params", message.replace("The body is", "is"));
  }
}

function checked(operation: Operation, given: Record<string, unknown>): Record<string, unknown> {
  const params = foldCasing(operation, given);
  const beside = operation.upload?.find((name) => Object.hasOwn(params, name));
  if (beside !== undefined) throw invalid(beside, "cannot be combined with a file");
  return params;
}

/** Parameters from a query: lists separated by commas, objects as JSON. */
function paramsOf({ input }: Operation, query: URLSearchParams): Record<string, unknown> {
  const params: Record<string, unknown> = {};
  for (const [name, value] of query) {
    if (Object.hasOwn(params, name)) throw invalid(name, "is given twice");
    const kind = Object.hasOwn(input.shape, name) ? kindOf(input.shape[name] as z.ZodType) : "text";
    if (kind === "list") params[name] = value.split(",").filter((one) => one !== "");
    else if (kind === "json") params[name] = parseJson(value);
    else if (kind === "boolean" && (value === "true" || value === "false")) params[name] = value === "true";
    else params[name] = value;
  }
  return params;
}

function sorted(query: URLSearchParams): string {
  const copy = new URLSearchParams(query);
  copy.sort();
  return copy.toString();
}

async function* hashed(file: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of file) {
    hash.update(chunk);
    yield chunk;
  }
}

async function forget({ db, log }: Service, upload: { propertyId: string; id: string }): Promise<void> {
  await db
    .asProperty(upload.propertyId, (sql) => dropUpload(sql, upload.propertyId, upload.id))
    .catch((error: unknown) =>
      log.warn({ err: error, upload: upload.id }, "an upload is left for the sweep"),
    );
}
