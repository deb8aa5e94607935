import { expect } from "vitest";
import type { TestService } from "../../support/service.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The formats that the specification gives its fields. */
const FORMATS: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  uuid: (value) => typeof value === "string" && UUID.test(value),
  email: (value) => typeof value === "string" && /^[^@\s]+@[^@\s]+$/.test(value),
  uri: (value) => typeof value === "string" && URL.canParse(value),
  "date-time": (value) => typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(value),
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  "array of string": (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "array of object": (value) => Array.isArray(value) && value.every((one) => typeof one === "object"),
};

export const USER = { id: "uuid", email: "email", role: "string" };

export const API_KEY = {
  id: "uuid",
  name: "string",
  key_prefix: "string",
  scopes: "array of string",
  rate_limit: "integer",
  is_active: "boolean",
  expires_at: "date-time or null",
  last_used_at: "date-time or null",
  created_at: "date-time",
};

export const PLAYER = {
  id: "uuid",
  property_id: "uuid",
  player_id: "string",
  email: "email or null",
  phone: "string or null",
  first_name: "string or null",
  last_name: "string or null",
  tier: "string or null",
  adt: "number or null",
  coin_in: "number or null",
  status: "string",
  created_at: "date-time",
};

export const ASYNC_JOB = {
  id: "uuid",
  status: "string",
  type: "string",
  total: "integer or null",
  processed: "integer or null",
  status_url: "uri",
  created_at: "date-time",
};

export const WEBHOOK_ENDPOINT = {
  id: "uuid",
  property_id: "uuid",
  url: "uri",
  events: "array of string",
  is_active: "boolean",
  created_at: "date-time",
};

/** The record has every field of the specification, each of its type. */
export function expectFields(record: Record<string, unknown>, fields: Record<string, string>): void {
  const wrong = Object.entries(fields).filter(
    ([name, type]) => !type.split(" or ").some((one) => FORMATS[one]!(record[name])),
  );
  expect(
    wrong.map(([name, type]) => `${name} is ${JSON.stringify(record[name])}, and should be ${type}`),
  ).toEqual([]);
}

/** A user's session, as headers. */
export function session(token: string): Record<string, string | null> {
  return { "X-Api-Key": null, Authorization: `Bearer ${token}` };
}

/** A player with consent for a channel, written through the API alone. */
export async function consenting(
  service: TestService,
  player: Record<string, unknown>,
  channel = "email",
): Promise<string> {
  const { body } = await service.post("/api/players", player);
  const { status } = await service.post("/api/functions/consent-record", {
    propertyId: service.tenant.id,
    playerId: body.id,
    channel,
    consentGiven: true,
  });
  expect(status).toBe(200);
  return body.id;
}
