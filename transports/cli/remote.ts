import { pipeline } from "node:stream/promises";
import { Agent, FormData, fetch, type Response } from "undici";
import { type Filters, filterPairs } from "#db/query/filter-pairs.ts";
import type { Page } from "#db/query/reader.ts";
import { isUuid } from "#db/text.ts";
import { FAULTS, Fault, type FaultCode, invalid } from "#runtime/faults.ts";
import { withTenant } from "#runtime/funnel/access.ts";
import { resolveNames } from "#runtime/funnel/names.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { pathOf } from "#runtime/operation/rest-paths.ts";
import type { Table } from "#runtime/operation/table.ts";
import { CATALOG } from "#tools/catalog.ts";
import type { Arguments } from "./arguments.ts";
import { type NamedProperty, propertyNamed } from "./property.ts";

interface RestRequest {
  method: string;
  path: string;
  body?: unknown;
  count?: string | undefined;
}

/** The result of an operation: its JSON, and for a list its page. */
export interface CommandResult {
  body: string;
  /** The operation's input, with ids in the place of names. */
  input: Record<string, unknown>;
  page?: Pick<Page, "total" | "nextCursor" | "warnings"> | undefined;
  /** Sentences for people. */
  warnings?: string[] | undefined;
}

/** Milliseconds. */
export interface Timeouts {
  /** Until an answer begins, after the request is sent: an operation may take a minute. */
  answer: number;
  /** Until its next bytes. */
  bytes: number;
}

const TIMEOUTS: Timeouts = { answer: 75_000, bytes: 30_000 };

interface Remote extends Pick<Arguments, "url" | "key" | "property"> {
  agent: Agent;
}

/** Calls an operation of a running service over REST. Returns its result, or prints its file; throws its faults. */
export async function callRemote(
  operation: Operation,
  given: Arguments,
  out: NodeJS.WritableStream,
  timeouts: Timeouts = TIMEOUTS,
): Promise<CommandResult> {
  const agent = new Agent({ headersTimeout: timeouts.answer, bodyTimeout: timeouts.bytes });
  try {
    return await callThrough({ ...given, agent }, operation, out);
  } finally {
    await agent.destroy();
  }
}

async function callThrough(
  given: Arguments & Remote,
  operation: Operation,
  out: NodeJS.WritableStream,
): Promise<CommandResult> {
  checkSendable(given);
  const property = await findProperty(operation, given);
  const named = await resolveNames(operation, CATALOG.tables.values(), given.input, (table, column, value) =>
    idsOf(given, property, table, column, value),
  );
  const request = restRequest(operation, withTenant(operation, named.input, property));
  const response = await send(given, request, {
    ...(given.property && property && { "X-Property-Id": property }),
    ...(given.idempotencyKey && { "Idempotency-Key": given.idempotencyKey }),
    ...(request.count && { Prefer: `handling=strict, count=${request.count}` }),
  });
  if (operation.file && response.body) {
    expectType(response, operation.file.contentType, given);
    await pipeline(readable(response.body, given), out, { end: false });
    return { body: "", input: named.input };
  }
  const body = await jsonOf(response, given);
  return { body, input: named.input, page: pageOf(response), warnings: named.said };
}

/** The ids of the records that have the value there. */
async function idsOf(
  remote: Arguments & Remote,
  property: string | undefined,
  { name }: Table,
  column: string,
  value: string,
): Promise<string[]> {
  const filters = query({ [`${column}.eq`]: value, select: "id", limit: "2" });
  const response = await send(
    remote,
    { method: "GET", path: `/api/${name}?${filters}` },
    { ...(remote.property && property && { "X-Property-Id": property }) },
  );
  return (JSON.parse(await jsonOf(response, remote)) as { id: string }[]).map(({ id }) => id);
}

/** Throws `invalid` for an address or key that cannot be sent: the failure would look like a service that is down. */
function checkSendable({ url = "", key }: Remote): void {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (!address || !/^https?:$/.test(address.protocol)) {
    throw invalid("--url", "must be an address such as http://127.0.0.1:8787");
  }
  if (address.username || address.password) {
    throw invalid("--url", "contains a user or a password, which this service does not use; see --key");
  }
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw invalid("--key", "is neither an API key (pk_ and 36 letters and digits) nor a session token");
  }
}

async function jsonOf(response: Response, remote: Remote): Promise<string> {
  expectType(response, "application/json", remote);
  const text = await textOf(response, remote);
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new Fault("unavailable", { message: `${remote.url} answered text that is not JSON.` });
  }
}

/** Throws `unavailable` if another program than the service answers. */
function expectType({ headers }: Response, wanted: string, { url }: Remote): void {
  const type = headers.get("Content-Type") ?? "nothing";
  if (type.split(";")[0] === wanted.split(";")[0]) return;
  throw new Fault("unavailable", { message: `${url} is not this service: it answered ${type}.` });
}

async function textOf(response: Response, remote: Remote): Promise<string> {
  return response.text().catch((error: unknown) => {
    throw brokenOff(remote, error);
  });
}

/** The body, with its own fault if it breaks off: `out` may fail as well. */
async function* readable(body: AsyncIterable<Uint8Array>, remote: Remote): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw brokenOff(remote, error);
  }
}

function brokenOff({ url }: Remote, cause: unknown): Fault {
  return new Fault("unavailable", { message: `The answer of ${url} broke off.`, cause });
}

async function send(
  remote: Remote,
  { method, path, body }: RestRequest,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { url, key, agent } = remote;
  const response = await fetch(new URL(path, url), {
    dispatcher: agent,
    method,
    // Following a redirect would turn a write into a read that looks like success.
    redirect: "manual",
    headers: {
      ...(key && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && !(body instanceof FormData) && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new Fault("unavailable", { message: noAnswerMessage(url, method, error), cause: error });
  });
  if (response.ok) return response;
  const redirect = response.headers.get("Location");
  if (response.status < 400 && redirect) {
    throw new Fault("unavailable", { message: `${url} redirects to ${redirect}: use that address.` });
  }
  throw remoteFault(response.status, await textOf(response, remote));
}

/** Errors that happen before anything is sent. */
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|.*CERT.*|.*SELF_SIGNED.*)$/;

function noAnswerMessage(url: string | undefined, method: string, error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  // HTTP clients send nothing to the ports of other protocols (WHATWG Fetch, "bad port").
  if (cause instanceof Error && cause.message === "bad port") {
    return `Nothing was sent to ${url}: HTTP clients refuse this port.`;
  }
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no answer";
  if (UNSENT.test(code)) return `Nothing answers at ${url} (${code}).`;
  const inDoubt = " Whether it was done is unknown: look before you repeat it.";
  return `${url} took the request and did not answer it.${method === "GET" ? "" : inDoubt}`;
}

const OWN_PROPERTY = "/api/functions/get-property";

/** The property's id, which REST needs: of the named property, or of the only one of the credential. */
async function findProperty(operation: Operation, given: Arguments & Remote): Promise<string | undefined> {
  const { property, input } = given;
  if (property !== undefined) {
    return isUuid(property) ? property : propertyNamed(await propertiesOf(given), property);
  }
  if (operation.property === null || input[operation.property] !== undefined) return undefined;
  return (await ask<NamedProperty>(given, OWN_PROPERTY)).id;
}

/** The properties of the credential. */
async function propertiesOf(remote: Remote): Promise<NamedProperty[]> {
  if (remote.key?.startsWith("pk_")) return [await ask(remote, OWN_PROPERTY)];
  const me = await ask<{ is_platform_admin: boolean; memberships: { property_id: string }[] }>(
    remote,
    "/api/auth/me",
  );
  if (!me.is_platform_admin) {
    return Promise.all(
      me.memberships.map((one) => ask<NamedProperty>(remote, OWN_PROPERTY, { propertyId: one.property_id })),
    );
  }
  return (await ask<{ properties: NamedProperty[] }>(remote, "/api/functions/list-properties")).properties;
}

async function ask<T>(remote: Remote, path: string, body: object = {}): Promise<T> {
  const response = await send(remote, { method: "POST", path, body });
  return JSON.parse(await jsonOf(response, remote)) as T;
}

function restRequest(operation: Operation, input: Record<string, unknown>): RestRequest {
  if (!operation.crud) return { method: "POST", path: pathOf(operation), body: input };
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const { id, ...rest } = input;
  const record = `${collection}/${encodeURIComponent(String(id))}`;
  if (verb === "list") {
    const { filters = {}, count, ...options } = input;
    const pairs = Object.fromEntries(filterPairs(readableOf(table), filters as Filters));
    const path = `${collection}?${query({ ...pairs, ...options })}`;
    return { method: "GET", path, count: typeof count === "string" ? count : count ? "exact" : undefined };
  }
  if (verb === "create") return { method: "POST", path: collection, body: uploadOf(operation, input) };
  if (verb === "update") return { method: "PATCH", path: record, body: rest };
  // The options go into the address too: without `dry_run` a delete would be real.
  return { method: verb === "get" ? "GET" : "DELETE", path: `${record}?${query(rest)}` };
}

function query(options: Record<string, unknown>): URLSearchParams {
  const pairs = Object.entries(options).flatMap(([key, value]) =>
    [value].flat().map((one): [string, string] => [key, String(one)]),
  );
  return new URLSearchParams(pairs);
}

/** A whole file is sent as multipart: a JSON body has a limit. */
function uploadOf({ upload: [field] = [] }: Operation, input: Record<string, unknown>): object {
  if (field === undefined || typeof input[field] !== "string") return input;
  const { [field]: text, ...params } = input;
  const data = new FormData();
  data.set("params", JSON.stringify(params));
  data.set("file", new Blob([String(text)], { type: "text/csv" }), "upload.csv");
  return data;
}

/** The page of a list, from the headers. */
function pageOf({ headers }: Response): CommandResult["page"] {
  const nextCursor = headers.get("X-Next-Cursor");
  const total = /\/(\d+)$/.exec(headers.get("Content-Range") ?? "")?.[1];
  const warnings = headers.get("X-Warnings");
  return {
    ...(nextCursor !== null && { nextCursor }),
    ...(total !== undefined && { total: Number(total) }),
    ...(warnings !== null && { warnings: JSON.parse(warnings) as string[] }),
  };
}

function remoteFault(status: number, text: string): Fault {
  try {
    const { error, code, details, retry_after } = JSON.parse(text);
    const known = Object.hasOwn(FAULTS, code) ? (code as FaultCode) : "internal";
    // People at the command line know the header as a flag.
    const message = String(error).replaceAll("X-Property-Id", "--property");
    return new Fault(known, { message, details, retryAfter: retry_after });
  } catch {
    return new Fault("internal", { message: `The service answered ${status}.` });
  }
}
