import { afterAll, beforeAll, expect, test } from "vitest";
import { isPersonal, needsProperty } from "#runtime/funnel/access.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { CATALOG } from "#tools/catalog.ts";
import { NOWHERE } from "../support/operation-calls.ts";
import { startService, type TestService } from "../support/service.ts";

let service: TestService;
const headers = new Map<string, Record<string, string | null>>();
beforeAll(async () => {
  service = await startService({ role: "web" });
  const bearer = async (role: "admin" | "manager" | "analyst") => {
    const { token } = await service.signIn({ role });
    return { "X-Api-Key": null, Authorization: `Bearer ${token}` };
  };
  for (const role of ["admin", "manager", "analyst"] as const) headers.set(role, await bearer(role));
  for (const scope of ["read", "write"] as const) {
    const named = { property_id: service.tenant.id, name: scope, scopes: [scope], rate_limit: 1_000_000 };
    const { api_key: key } = await service.call("create_api_key", named);
    headers.set(scope, { "X-Api-Key": key });
  }
});
afterAll(() => service?.stop());

const PEOPLE: Record<string, readonly string[]> = {
  analyst: ["property", "user", "public"],
  manager: ["property", "user", "public", "manager", "person"],
  admin: ["property", "user", "public", "manager", "person", "admin"],
};

type Refusal = readonly [status: number, code: string];
const FOREIGN: Refusal = [401, "invalid_credential"];
const UNSCOPED: Refusal = [403, "insufficient_scope"];
const FORBIDDEN: Refusal = [403, "forbidden"];

/** The refusal that the caller gets; undefined where the operation is theirs. */
function refusal(operation: Operation, path: string, caller: string): Refusal | undefined {
  const { access, scope } = operation;
  if (access === "public") return undefined;
  const may = PEOPLE[caller];
  if (may) {
    if (access === "operator") return FORBIDDEN;
    if (caller === "analyst" && scope === "write" && needsProperty(operation)) return UNSCOPED;
    return may.includes(access) ? undefined : FORBIDDEN;
  }
  if (isPersonal(operation)) return FOREIGN;
  // A change of the records that a filter finds answers them.
  const reads = /^(update|delete)$/.test(operation.crud?.verb ?? "") && !path.includes("{id}");
  if (scope !== caller) return UNSCOPED;
  if (access !== "property") return FORBIDDEN;
  return reads && caller === "write" ? UNSCOPED : undefined;
}

test.each(["analyst", "manager", "admin", "read", "write"])(
  "every operation refuses %s, where it is not theirs, before it reads the call",
  async (caller) => {
    const wrong: string[] = [];
    let refused = 0;
    for (const operation of CATALOG.operations.values()) {
      for (const [path, verb] of routesOf(operation)) {
        const refusedWith = refusal(operation, path, caller);
        if (refusedWith === undefined) continue;
        refused += 1;
        const method = verb.toUpperCase();
        const sent = method === "GET" ? {} : { body: {} };
        const { status, body } = await service.request(method, path.replace("{id}", NOWHERE), {
          ...sent,
          headers: headers.get(caller)!,
        });
        if (status !== refusedWith[0] || body.code !== refusedWith[1])
          wrong.push(`${operation.name} ${method} ${path}: ${status} ${body.code}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(5);
  },
  60_000,
);
