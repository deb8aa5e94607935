import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { CATALOG } from "#tools/catalog.ts";
import { openApi } from "#transports/openapi/document.ts";

interface Described {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

interface Schema {
  type?: string;
  anyOf?: Schema[];
}

interface Response {
  $ref?: string;
  headers?: Record<string, object>;
  content?: Record<string, { schema: Schema }>;
}

export interface Exchange {
  method: string;
  /** With its query. */
  path: string;
  /** The request's headers. */
  headers: Record<string, string | null>;
  status: number;
  contentType: string;
  /** The answer's headers. */
  answered: Headers;
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
const compiled = new Map<Schema, ValidateFunction>();

/**
 * How an answer differs from what the OpenAPI document says of it; null when it does not. What comes without a header
 * that asks for another shape is the first that the document has. Of `select` the columns are the asker's own.
 */
export function undescribed(exchange: Exchange): string | null {
  const { method, path, status, contentType, body } = exchange;
  const [address = "", query = ""] = path.split("?");
  const place = places.find(({ pattern }) => pattern.test(address))?.path;
  const operation = place === undefined ? undefined : document.paths[place]?.[method.toLowerCase()];
  if (!operation || status >= 500) return null;
  const found = operation.responses[status] ?? (status >= 400 ? operation.responses.default : undefined);
  if (!found) return `${method} ${place}: ${status} is not described`;
  const response = found.$ref ? document.components.responses[found.$ref.split("/").at(-1)!]! : found;
  const missing = undescribedHeader(response, exchange.answered);
  if (missing) return `${method} ${place}: ${status} with ${missing} is not described`;
  const type = contentType.split(";")[0]!;
  if (body === null && type === "" && !response.content) return null;
  const content = response.content?.[type];
  if (!content) return `${method} ${place}: ${status} as ${type} is not described`;
  if (!type.endsWith("json") || /(^|&)select=/.test(query)) return null;
  const check = validator(expected(content.schema, exchange));
  return check(body) ? null : `${method} ${place} ${status}: ${ajv.errorsText(check.errors)}`;
}

/** Of several shapes, the one that comes unasked: of one record, or of as many as went out. */
function expected(schema: Schema, { headers, many, status }: Exchange): Schema {
  const asked = Object.keys(headers).some((name) => /^prefer$/i.test(name));
  if (!schema.anyOf || asked || status >= 400) return schema;
  return schema.anyOf.find(({ type }) => !many || type === "array")!;
}

/** Headers by which callers decide, and which the document must know where they are answered. */
const TELLING =
  /^(etag|location|link|allow|deprecation|sunset|retry-after|www-authenticate|content-(range|disposition)|idempotency-|x-(?!content)|api-)/;

function undescribedHeader({ headers = {} }: Response, answered: Headers): string | undefined {
  const known = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  return [...answered.keys()].find((name) => TELLING.test(name) && !known.has(name));
}

function validator(schema: Schema): ValidateFunction {
  const known = compiled.get(schema) ?? ajv.compile(referring(schema));
  compiled.set(schema, known);
  return known;
}

/** The schema with its references into the whole document. */
function referring(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"openapi#/')) as object;
}
