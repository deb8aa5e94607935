import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOWHERE } from "../../support/operation-calls.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

/** The scope of each endpoint in the tables of the part Endpoints, and its answer to no input. */
const READ = [
  ["GET", "/api/players", 200],
  ["GET", `/api/players/${NOWHERE}`, 404],
  ["POST", "/api/functions/export-players", 200],
  ["POST", "/api/functions/compliance-check", 400],
  ["POST", "/api/functions/data-export", 400],
  ["GET", `/api/validation_jobs/${NOWHERE}`, 404],
  ["GET", `/api/import_jobs/${NOWHERE}`, 404],
  ["GET", "/api/webhook_endpoints", 200],
] as const;

const WRITE = [
  ["POST", "/api/players", 201],
  ["PATCH", `/api/players/${NOWHERE}`, 404],
  ["DELETE", `/api/players/${NOWHERE}`, 404],
  ["POST", "/api/functions/send-campaign", 400],
  ["POST", "/api/functions/send-sms-campaign", 400],
  ["POST", "/api/functions/schedule-campaign", 400],
  ["POST", "/api/functions/consent-record", 400],
  ["POST", "/api/functions/consent-revoke", 400],
  ["POST", "/api/functions/data-deletion", 400],
  ["POST", "/api/webhook_endpoints", 400],
] as const;

const ask = (method: string, path: string, key: string | null) =>
  service.request(method, path, {
    ...(method !== "GET" && method !== "DELETE" && { body: {} }),
    headers: { "X-Api-Key": key },
  });

describe("Scope required per endpoint", () => {
  test.each(READ)("%s %s: read", async (method, path, answered) => {
    expect((await ask(method, path, service.tenant.readKey)).status).toBe(answered);
    expect((await ask(method, path, null)).status).toBe(401);
  });

  test.each(WRITE)("%s %s: write", async (method, path, answered) => {
    const { status, body } = await ask(method, path, service.tenant.readKey);
    expect([status, body.error]).toEqual([403, "insufficient_scope"]);
    expect((await ask(method, path, service.tenant.key)).status).toBe(answered);
    expect((await ask(method, path, null)).status).toBe(401);
  });
});
