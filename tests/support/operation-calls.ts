import { z } from "zod";
import type { Operation } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import type { Table } from "#runtime/operation/table.ts";
import { CATALOG } from "#tools/catalog.ts";
import type { Answer, TestService } from "./service.ts";

type Schema = {
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  minItems?: number;
  minLength?: number;
  minimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
};

export const NOWHERE = "00000000-0000-7000-8000-000000000000";

const inputs = new Map<z.ZodType, Schema>();

/** The input of an operation as JSON Schema. */
export function schemaOf({ input }: Operation): Schema {
  const schema =
    inputs.get(input) ?? (z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Schema);
  inputs.set(input, schema);
  return schema;
}

/** The least input that the operation's schema takes, with the given fields in it. */
export function inputFor(operation: Operation, given: Record<string, unknown> = {}): Record<string, unknown> {
  return { ...(sample(schemaOf(operation), "") as object), ...given };
}

export interface IdField {
  field: string;
  many: boolean;
}

/** Fields that hold ids, one or several. */
export function idFields(operation: Operation): IdField[] {
  return Object.entries(schemaOf(operation).properties ?? {}).flatMap(([field, schema]): IdField[] => {
    const flat = [schema, ...(schema.anyOf ?? [])];
    if (flat.some(({ format }) => format === "uuid")) return [{ field, many: false }];
    return flat.some(({ items }) => items?.format === "uuid") ? [{ field, many: true }] : [];
  });
}

/** The table that an id field points into, by its name. */
export function pointsTo(operation: Operation, field: string): Table | undefined {
  if (field === "id") return operation.crud?.table;
  const noun = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/_ids?$/, "");
  return [...CATALOG.tables.values()].find(
    (table) => noun === table.noun || noun.endsWith(`_${table.noun}`) || table.noun.endsWith(`_${noun}`),
  );
}

/** The operation over REST. `id` of a record stands in the address. */
export function overRest(
  service: TestService,
  operation: Operation,
  input: Record<string, unknown>,
  headers: Record<string, string | null> = {},
): Promise<Answer> {
  const [path, verb] = routesOf(operation)[0]!;
  const method = verb.toUpperCase();
  const { id, ...rest } = input;
  const body = path.includes("{id}") ? rest : input;
  const address = path.replace("{id}", encodeURIComponent(String(id)));
  if (method !== "GET") return service.request(method, address, { body, headers });
  const { filters = {}, ...options } = rest as { filters?: Record<string, string> };
  const query = new URLSearchParams({ ...filters, ...(options as Record<string, string>) });
  return service.request("GET", `${address}${query.size > 0 ? `?${query}` : ""}`, { headers });
}

/** A tool's answer, or the protocol's own error. */
export interface Told {
  isError: boolean;
  data: Record<string, unknown>;
}

/** The operation over MCP, as an agent does it: what it is shown first, it confirms. */
export async function overMcp(
  service: TestService,
  operation: Operation,
  input: Record<string, unknown>,
  headers: Record<string, string | null> = {},
): Promise<Told> {
  const first = await onceOverMcp(service, operation, input, headers);
  if (first.data.confirmation_required !== true) return first;
  return onceOverMcp(service, operation, { ...input, confirm_token: first.data.confirm_token }, headers);
}

/** One JSON-RPC message, as any client sends it. */
export async function onceOverMcp(
  service: TestService,
  operation: Operation,
  input: Record<string, unknown>,
  headers: Record<string, string | null> = {},
): Promise<Told> {
  const { body } = await service.request("POST", "/api/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: operation.name, arguments: input } },
    headers: { Accept: "application/json, text/event-stream", ...headers },
  });
  if (body.error) return { isError: true, data: body.error };
  return { isError: body.result.isError === true, data: body.result.structuredContent };
}

function sample(schema: Schema, name: string): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const union = schema.anyOf ?? schema.oneOf;
  if (union) return sample(union[0]!, name);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === "object") {
    const { properties = {}, required = [] } = schema;
    return Object.fromEntries(required.map((field) => [field, sample(properties[field] ?? {}, field)]));
  }
  if (type === "array")
    return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}, name));
  if (type === "integer" || type === "number") return Math.max(1, schema.minimum ?? 1);
  if (type === "boolean") return true;
  return FORMATS[schema.format ?? ""] ?? NAMED[name] ?? "x".repeat(Math.max(12, schema.minLength ?? 0));
}

const FORMATS: Record<string, string> = {
  uuid: NOWHERE,
  email: "somebody@example.com",
  uri: "https://receiver.example/hook",
  "date-time": "2036-01-01T00:00:00Z",
  date: "2000-01-01",
};

const NAMED: Record<string, string> = {
  phone: "+17025550123",
  url: "https://receiver.example/hook",
  slug: "another-property",
  timezone: "America/New_York",
};
