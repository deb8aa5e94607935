import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { CATALOG } from "#tools/catalog.ts";
import { openApi } from "#transports/openapi.ts";

interface Described {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

interface Response {
  $ref?: string;
  content?: Record<string, { schema: object }>;
}

export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  /** The request's headers. */
  headers: Record<string, string | null>;
  status: number;
  contentType: string;
  /** Several records went out in one request: as many come back. */
  many?: boolean;
  body: unknown;
}

const document = openApi(CATALOG, "http://127.0.0.1") as unknown as Described;
const ajv = new Ajv2020({ strict: false, allErrors: false });
(formats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema({ $id: "openapi", ...document });
const places = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
}));
const compiled = new Map<string, ValidateFunction | null>();

/**
 * How an answer differs from what the OpenAPI document says of it; null when it does not. Answers in a shape
 * that was asked for by a header or by `select` are the asker's own.
 */
export function undescribed({
  method,
  path,
  headers,
  status,
  contentType,
  many,
  body,
}: Exchange): string | null {
  const [address = "", query = ""] = path.split("?");
  const asked = Object.keys(headers).some((name) => /^(prefer|accept)$/i.test(name));
  const place = places.find(({ pattern }) => pattern.test(address))?.path;
  const operation = place === undefined ? undefined : document.paths[place]?.[method.toLowerCase()];
  if (!operation || status >= 500 || asked || /(^|&)select=/.test(query)) return null;
  const found = operation.responses[status] ?? (status >= 400 ? operation.responses.default : undefined);
  if (!found) return `${method} ${place}: ${status} is not described`;
  const response = found.$ref ? document.components.responses[found.$ref.split("/").at(-1)!]! : found;
  const type = contentType.split(";")[0]!;
  const content = response.content?.[type];
  if (!content) return `${method} ${place}: ${status} as ${type} is not described`;
  if (!type.endsWith("json")) return null;
  const check = validator(`${method} ${place} ${status} ${type}`, content.schema);
  const records = many && status < 400 && Array.isArray(body) ? body : [body];
  if (records.every((record) => check(record))) return null;
  return `${method} ${place} ${status}: ${ajv.errorsText(check.errors)}`;
}

function validator(name: string, schema: object): ValidateFunction {
  const known = compiled.get(name) ?? ajv.compile(referring(schema));
  compiled.set(name, known);
  return known;
}

/** The schema with its references into the whole document. */
function referring(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/')) as object;
}
