import { pipeline } from "node:stream/promises";
import { Agent, FormData, fetch, type Response } from "undici";
import type { Page } from "#db/reader.ts";
import { withTenant } from "#runtime/access.ts";
import { FAULTS, Fault, type FaultCode, invalid } from "#runtime/faults.ts";
import type { Operation } from "#runtime/operation.ts";
import type { Arguments } from "./cli-arguments.ts";
import { type Named, propertyNamed } from "./cli-property.ts";
import { pathOf } from "./rest-places.ts";

interface Plan {
  method: string;
  path: string;
  body?: unknown;
  count?: string | undefined;
}

/** What an operation answers: its JSON, and of a list where it stands. */
export interface Answered {
  body: string;
  page?: Pick<Page, "total" | "nextCursor"> | undefined;
}

/** Milliseconds. */
export interface Patience {
  /** For an answer to begin, once all has been sent: an operation may take a minute. */
  answer: number;
  /** For its next bytes. */
  bytes: number;
}

const PATIENCE: Patience = { answer: 75_000, bytes: 30_000 };

interface Remote extends Pick<Arguments, "url" | "key" | "property"> {
  line: Agent;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Calls an operation of a service elsewhere, over REST. Answers what it says, or prints a file; throws its faults. */
export async function callRemote(
  operation: Operation,
  given: Arguments,
  out: NodeJS.WritableStream,
  patience: Patience = PATIENCE,
): Promise<Answered> {
  const line = new Agent({ headersTimeout: patience.answer, bodyTimeout: patience.bytes });
  try {
    return await callOver({ ...given, line }, operation, out);
  } finally {
    await line.destroy();
  }
}

async function callOver(
  given: Arguments & Remote,
  operation: Operation,
  out: NodeJS.WritableStream,
): Promise<Answered> {
  checkSendable(given);
  const property = await findProperty(operation, given);
  const plan = planOf(operation, withTenant(operation, given.input, property));
  const response = await send(given, plan, {
    ...(given.property && property && { "X-Property-Id": property }),
    ...(given.idempotencyKey && { "Idempotency-Key": given.idempotencyKey }),
    ...(plan.count && { Prefer: `handling=strict, count=${plan.count}` }),
  });
  if (operation.file && response.body) {
    expectType(response, operation.file.contentType, given);
    await pipeline(whole(response.body, given), out, { end: false });
    return { body: "" };
  }
  return { body: await jsonOf(response, given), page: pageOf(response) };
}

/** Throws `invalid` for what could not be sent, which would look as if nothing answered. */
function checkSendable({ url = "", key }: Remote): void {
  const address = URL.canParse(url) ? new URL(url) : null;
  if (!address || !/^https?:$/.test(address.protocol)) {
    throw invalid("--url", "is an address such as http://127.0.0.1:8787");
  }
  if (address.username || address.password) {
    throw invalid("--url", "has a user or a password in it, which this service does not ask for; see --key");
  }
  if (key && !/^[\x21-\x7e]+$/.test(key)) {
    throw invalid("--key", "is no API key (pk_ and 36 letters and digits), and no token of a session");
  }
}

async function jsonOf(response: Response, remote: Remote): Promise<string> {
  expectType(response, "application/json", remote);
  const text = await textOf(response, remote);
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new Fault("unavailable", { message: `${remote.url} answered what is not JSON.` });
  }
}

/** Throws `unavailable` where something else answers than the service. */
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

/** What is broken off here is told from what `out` breaks off. */
async function* whole(body: AsyncIterable<Uint8Array>, remote: Remote): AsyncGenerator<Uint8Array> {
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
  { method, path, body }: Plan,
  headers: Record<string, string> = {},
): Promise<Response> {
  const { url, key, line } = remote;
  const response = await fetch(new URL(path, url), {
    dispatcher: line,
    method,
    // Followed, a write would be made into a read, and answered as if it had been done.
    redirect: "manual",
    headers: {
      ...(key && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && !(body instanceof FormData) && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  }).catch((error: unknown) => {
    throw new Fault("unavailable", { message: unanswered(url, method, error), cause: error });
  });
  if (response.ok) return response;
  const elsewhere = response.headers.get("Location");
  if (response.status < 400 && elsewhere) {
    throw new Fault("unavailable", { message: `${url} sends on to ${elsewhere}: give that address.` });
  }
  throw remoteFault(response.status, await textOf(response, remote));
}

/** What fails before anything is sent. */
const UNSENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_.*|.*CERT.*|.*SELF_SIGNED.*)$/;

function unanswered(url: string | undefined, method: string, error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no answer";
  if (UNSENT.test(code)) return `Nothing answers at ${url} (${code}).`;
  const unknown = " Whether it was done cannot be told: look before you do it again.";
  return `${url} took the request and did not answer it.${method === "GET" ? "" : unknown}`;
}

const OWN_PROPERTY = "/api/functions/get-property";

/** The property's id, which REST wants: of the one that is named, or of the only one that the credential is for. */
async function findProperty(operation: Operation, given: Arguments & Remote): Promise<string | undefined> {
  const { property, input } = given;
  if (property !== undefined) {
    return UUID.test(property) ? property : propertyNamed(await propertiesOf(given), property);
  }
  if (operation.property === null || input[operation.property] !== undefined) return undefined;
  return (await ask<Named>(given, OWN_PROPERTY)).id;
}

/** What the credential works in. */
async function propertiesOf(remote: Remote): Promise<Named[]> {
  if (remote.key?.startsWith("pk_")) return [await ask(remote, OWN_PROPERTY)];
  const me = await ask<{ is_platform_admin: boolean; memberships: { property_id: string }[] }>(
    remote,
    "/api/auth/me",
  );
  if (!me.is_platform_admin) {
    return Promise.all(
      me.memberships.map((one) => ask<Named>(remote, OWN_PROPERTY, { propertyId: one.property_id })),
    );
  }
  return (await ask<{ properties: Named[] }>(remote, "/api/functions/list-properties")).properties;
}

async function ask<T>(remote: Remote, path: string, body: object = {}): Promise<T> {
  const response = await send(remote, { method: "POST", path, body });
  return JSON.parse(await jsonOf(response, remote)) as T;
}

function planOf(operation: Operation, input: Record<string, unknown>): Plan {
  if (!operation.crud) return { method: "POST", path: pathOf(operation), body: input };
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const { id, ...rest } = input;
  const record = `${collection}/${encodeURIComponent(String(id))}`;
  if (verb === "list") {
    const { filters = {}, count, ...options } = input;
    const path = `${collection}?${query({ ...(filters as object), ...options })}`;
    return { method: "GET", path, count: typeof count === "string" ? count : count ? "exact" : undefined };
  }
  if (verb === "create") return { method: "POST", path: collection, body: sent(operation, input) };
  if (verb === "update") return { method: "PATCH", path: record, body: rest };
  // What is left out of the address is not done: a removal that was only to be tried would be made.
  return { method: verb === "get" ? "GET" : "DELETE", path: `${record}?${query(rest)}` };
}

function query(options: Record<string, unknown>): URLSearchParams {
  const pairs = Object.entries(options).flatMap(([key, value]) =>
    [value].flat().map((one): [string, string] => [key, String(one)]),
  );
  return new URLSearchParams(pairs);
}

/** A whole file travels as a file: a JSON body has a limit. */
function sent({ upload: [field] = [] }: Operation, input: Record<string, unknown>): object {
  if (field === undefined || typeof input[field] !== "string") return input;
  const { [field]: text, ...params } = input;
  const data = new FormData();
  data.set("params", JSON.stringify(params));
  data.set("file", new Blob([String(text)], { type: "text/csv" }), "upload.csv");
  return data;
}

/** Where a list goes on, as the headers say it. */
function pageOf({ headers }: Response): Answered["page"] {
  const nextCursor = headers.get("X-Next-Cursor");
  const total = /\/(\d+)$/.exec(headers.get("Content-Range") ?? "")?.[1];
  return {
    ...(nextCursor !== null && { nextCursor }),
    ...(total !== undefined && { total: Number(total) }),
  };
}

function remoteFault(status: number, text: string): Fault {
  try {
    const { error, code, details, retry_after } = JSON.parse(text);
    const known = Object.hasOwn(FAULTS, code) ? (code as FaultCode) : "internal";
    // The header is the flag's other name.
    const message = String(error).replaceAll("X-Property-Id", "--property");
    return new Fault(known, { message, details, retryAfter: retry_after });
  } catch {
    return new Fault("internal", { message: `The service answered ${status}.` });
  }
}
