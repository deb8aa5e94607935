import { randomUUID } from "node:crypto";
import { type Config, readConfig } from "#runtime/config.ts";
import { Fault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { createLog, type Log } from "#runtime/log.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Call } from "#runtime/operation/context.ts";
import { CATALOG } from "#tools/catalog.ts";
import type { ConnectionLimits } from "#transports/http/server.ts";
import type { mcpFace } from "#transports/mcp/endpoint.ts";
import { compose, type Running } from "#transports/start/compose.ts";
import type { CallPace } from "#transports/voice/pace.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { httpRequest } from "./http-request.ts";
import { undescribed, unlikeOutput } from "./openapi-check.ts";

export interface Tenant {
  id: string;
  slug: string;
  /** A key with read and write. */
  key: string;
  readKey: string;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  body: any;
  text: string;
  headers: Headers;
}

export interface TestService {
  baseUrl: string;
  /** By which code in this process runs operations, as the transports do. */
  internals: Service;
  database: TestDatabase;
  running: Running;
  /** The property that most tests work in. */
  tenant: Tenant;
  /** Another property on the same installation, without keys: each costs as much as the property. */
  newProperty(settings?: object): Promise<Pick<Tenant, "id" | "slug">>;
  /** The same, with keys. */
  newTenant(settings?: object): Promise<Tenant>;
  /** Runs an operation in a property, as the system unless `as` says otherwise; throws its fault. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects
  call(operation: string, input: object, propertyId?: string, as?: Partial<Call>): Promise<any>;
  /** A user with a session; admin of the tenant unless told otherwise. */
  signIn(options?: {
    role?: "admin" | "manager" | "analyst" | null;
    platformAdmin?: boolean;
  }): Promise<{ id: string; email: string; password: string; token: string }>;
  /** An HTTP request with the tenant's key, unless headers say otherwise. */
  request(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string | null> },
  ): Promise<Answer>;
  get(path: string, headers?: Record<string, string | null>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string | null>): Promise<Answer>;
  /** Resolves when no job is waiting or running. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The users' password and its hash, made once for all files of the process: each costs 60 ms of a processor. A sign-in by
 * the password is tested where it is the subject.
 */
const PASSWORD = "correct horse battery staple";
let passwordHash: Promise<string> | undefined;

/** A whole service on a database of its own: HTTP on a free port, worker, scheduler, one property with keys. */
export async function startService(
  overrides: Partial<Config> = {},
  parts: {
    catalog?: Catalog;
    log?: Log;
    face?: typeof mcpFace;
    database?: TestDatabase;
    connections?: ConnectionLimits;
    callPace?: CallPace;
  } = {},
): Promise<TestService> {
  const database = parts.database ?? (await testDatabase());
  const { catalog = CATALOG, log = createLog(process.env.LOG_LEVEL ?? "silent") } = parts;
  const { face, connections, callPace } = parts;
  const config: Config = {
    ...readConfig({
      DATABASE_URL: database.url,
      APP_SECRET: "t".repeat(32),
      LOG_LEVEL: process.env.LOG_LEVEL ?? "silent",
      WEBHOOK_ALLOW_PRIVATE: "on",
    }),
    port: 0,
    ...overrides,
  };
  const running = await compose({
    config,
    databaseUrl: database.url,
    catalog,
    log,
    ...(face && { face }),
    ...(connections && { connections }),
    ...(callPace && { callPace }),
  });
  const { service: internals } = running;
  const baseUrl = running.listening ? `http://127.0.0.1:${running.listening.port}` : "";
  const call: TestService["call"] = async (name, input, propertyId, as = {}) => {
    const operation = CATALOG.operations.get(name);
    if (!operation) throw new Error(`no operation ${name}`);
    const request: Call = {
      actor: { type: "system", id: null },
      transport: "cli",
      requestId: randomUUID(),
      propertyId,
      ...as,
    };
    const outcome = await invoke(internals, operation, request, input);
    if (outcome.status >= 400) throw new Fault("conflict", { message: outcome.body });
    const result = JSON.parse(outcome.body);
    const difference = operation.file ? null : unlikeOutput(operation, result);
    if (difference) throw new Error(`not as its output schema says: ${difference}`);
    return result;
  };
  const newProperty: TestService["newProperty"] = async (settings = {}) => {
    const slug = `p-${randomUUID().slice(0, 13)}`;
    const { id } = await call("create_property", {
      name: `Casino ${slug}`,
      slug,
      legal_name: "Casino LLC",
      postal_address: "1 Main Street, Reno, NV 89501",
      ...settings,
    });
    // Tests run at night too.
    await database.db.asProperty(id, (sql) => sql`delete from quiet_hours_rules where property_id = ${id}`);
    return { id, slug };
  };
  const newTenant = async (settings: object = {}): Promise<Tenant> => {
    const { id, slug } = await newProperty(settings);
    const make = async (scopes: string[]) =>
      (await call("create_api_key", { property_id: id, name: "test", scopes, rate_limit: 1_000_000 }))
        .api_key as string;
    return { id, slug, key: await make(["read", "write"]), readKey: await make(["read"]) };
  };
  const tenant = await newTenant();
  const request: TestService["request"] = async (method, path, { body, headers = {} } = {}) => {
    const all: Record<string, string | null> = {
      "X-Api-Key": tenant.key,
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    };
    const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
    const raw = typeof body === "string" || body instanceof Uint8Array || body instanceof FormData;
    const {
      status,
      text,
      headers: answered,
    } = await httpRequest(`${baseUrl}${path}`, {
      method,
      headers: given,
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
    });
    const contentType = answered.get("content-type") ?? "";
    const json = /json/.test(contentType) && text !== "" ? JSON.parse(text) : null;
    const difference = undescribed({
      method,
      path,
      headers,
      status,
      contentType,
      answered,
      many: Array.isArray(body),
      body: json,
    });
    if (difference) throw new Error(`not as /api/openapi.json says: ${difference}`);
    return { status, body: json, text, headers: answered };
  };
  return {
    baseUrl,
    internals,
    database,
    running,
    tenant,
    newProperty,
    newTenant,
    call,
    signIn: async ({ role = "admin", platformAdmin = false } = {}) => {
      const email = `u-${randomUUID().slice(0, 13)}@example.com`;
      passwordHash ??= hashPassword(PASSWORD);
      const hash = await passwordHash;
      const [user] = await database.db.asSystem(
        (sql) => sql<[{ id: string }]>`
          insert into users (email, password_hash, is_platform_admin) values (${email}, ${hash}, ${platformAdmin})
          returning id`,
      );
      const { id } = user;
      if (role) await call("grant_membership", { property_id: tenant.id, user_id: id, role });
      return { id, email, password: PASSWORD, token: await internals.sessions.issue(id) };
    },
    request,
    get: (path, headers) => request("GET", path, { ...(headers && { headers }) }),
    post: (path, body, headers) => request("POST", path, { body, ...(headers && { headers }) }),
    idle: () => running.idle(),
    stop: async () => {
      await running.stop();
      await database.drop();
    },
  };
}
