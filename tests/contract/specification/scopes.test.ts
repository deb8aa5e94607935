import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type House, startHouse } from "../../support/house.ts";
import { NOWHERE } from "../asking.ts";

let house: House;

beforeAll(async () => {
  house = await startHouse();
});
afterAll(() => house?.stop());

/** What each endpoint is declared to need, in the tables of the part Endpoints. */
const READ = [
  ["GET", "/api/players"],
  ["GET", `/api/players/${NOWHERE}`],
  ["POST", "/api/functions/export-players"],
  ["POST", "/api/functions/compliance-check"],
  ["POST", "/api/functions/data-export"],
  ["GET", `/api/validation_jobs/${NOWHERE}`],
  ["GET", `/api/import_jobs/${NOWHERE}`],
  ["GET", "/api/webhook_endpoints"],
] as const;

const WRITE = [
  ["POST", "/api/players"],
  ["PATCH", `/api/players/${NOWHERE}`],
  ["DELETE", `/api/players/${NOWHERE}`],
  ["POST", "/api/functions/send-campaign"],
  ["POST", "/api/functions/send-sms-campaign"],
  ["POST", "/api/functions/schedule-campaign"],
  ["POST", "/api/functions/consent-record"],
  ["POST", "/api/functions/consent-revoke"],
  ["POST", "/api/functions/data-deletion"],
  ["POST", "/api/webhook_endpoints"],
] as const;

const ask = (method: string, path: string, key: string | null) =>
  house.request(method, path, {
    ...(method !== "GET" && method !== "DELETE" && { body: {} }),
    headers: { "X-Api-Key": key },
  });

describe("Scope required per endpoint", () => {
  test.each(READ)("%s %s: read", async (method, path) => {
    const { status } = await ask(method, path, house.tenant.readKey);
    expect([200, 400, 404]).toContain(status);
    expect((await ask(method, path, null)).status).toBe(401);
  });

  test.each(WRITE)("%s %s: write", async (method, path) => {
    const { status, body } = await ask(method, path, house.tenant.readKey);
    expect([status, body.error]).toEqual([403, "insufficient_scope"]);
    expect([200, 201, 400, 404]).toContain((await ask(method, path, house.tenant.key)).status);
    expect((await ask(method, path, null)).status).toBe(401);
  });
});
