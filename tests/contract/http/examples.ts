import { CATALOG } from "#tools/catalog.ts";
import type { Answer, TestService } from "../../support/service.ts";

interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  example?: unknown;
  schema: { default?: unknown };
}

export interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}

export interface Document {
  paths: Record<string, Record<string, Described>>;
  components: { parameters: Record<string, Parameter> };
}

/** Whether only a person who has signed in may do it. */
export function isOfPeople(operationId: string): boolean {
  const operation = CATALOG.operations.get(operationId.replace(/_(matching|get)$/, ""));
  return operation !== undefined && !["property", "public"].includes(operation.access);
}

export function endpoints({ paths }: Document): [string, string, Described][] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]): [string, string, Described] => [path, method, one]),
  );
}

/** The request of the viewer: each parameter's example or default, and the body's example. */
export function execute(
  service: TestService,
  { paths, components }: Document,
  path: string,
  method: string,
  credential: Record<string, string | null>,
): Promise<Answer> {
  const { parameters = [], requestBody } = paths[path]![method]!;
  const headers: Record<string, string | null> = { Accept: "application/json", ...credential };
  const query = new URLSearchParams();
  let address = path;
  for (const given of parameters) {
    const one = given.$ref ? components.parameters[given.$ref.split("/").at(-1)!]! : given;
    const value = one.example ?? one.schema?.default;
    if (value === undefined) continue;
    if (one.in === "path") address = address.replace(`{${one.name}}`, String(value));
    else if (one.in === "header") headers[one.name] = String(value);
    else if (typeof value !== "object") query.append(one.name, String(value));
    else for (const [name, text] of Object.entries(value as object)) query.append(name, text);
  }
  const body = requestBody?.content["application/json"]?.example;
  const at = query.size > 0 ? `${address}?${query}` : address;
  return service.request(method.toUpperCase(), at, { ...(body !== undefined && { body }), headers });
}
