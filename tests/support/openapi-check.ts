import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { z } from "zod";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { openApi } from "#transports/openapi/document.ts";

interface Described {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

interface Schema {
  type?: string;
  anyOf?: Schema[];
  items?: Schema;
  const?: unknown;
  maxProperties?: number;
  required?: string[];
  properties?: Record<string, Schema>;
}

type Content = Record<string, { schema: Schema }>;

interface Response {
  $ref?: string;
  headers?: Record<string, object>;
  content?: Content;
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
// Most schemas judge a few bodies each: to make their code shorter takes longer than to make it.
const ajv = new Ajv2020({ strict: false, allErrors: false, code: { optimize: false } });
(formats as unknown as (ajv: Ajv2020) => void)(ajv);
ajv.addSchema({ $id: "openapi", ...document });
const places = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
}));
const compiled = new Map<Schema, ValidateFunction>();

/**
 * The difference between an answer and the OpenAPI document; null where there is none. Without a header that asks for
 * another shape, the first one of the document counts. Of `select` the columns are the asker's own.
 */
export function undescribed(exchange: Exchange): string | null {
  const { method, path, status, contentType, body } = exchange;
  const [address = "", query = ""] = path.split("?");
  const place = Object.hasOwn(document.paths, address)
    ? address
    : places.find(({ pattern }) => pattern.test(address))?.path;
  const operation = place === undefined ? undefined : document.paths[place]?.[method.toLowerCase()];
  if (!operation || status >= 500) return null;
  const found = operation.responses[status] ?? (status >= 400 ? operation.responses.default : undefined);
  if (!found) return `${method} ${place}: ${status} is not described`;
  const response = found.$ref ? document.components.responses[found.$ref.split("/").at(-1)!]! : found;
  const missing = undescribedHeader(response, exchange.answered);
  if (missing) return `${method} ${place}: ${status} with ${missing} is not described`;
  const type = contentType.split(";")[0]!;
  if (body === null && type === "" && (!response.content || isMinimal(exchange))) return null;
  const content = response.content?.[type];
  if (!content) return `${method} ${place}: ${status} as ${type} is not described`;
  if (!type.endsWith("json") || /(^|&)select=/.test(query)) return null;
  const check = validator(expected(response.content!, type, exchange));
  return check(body) ? null : `${method} ${place} ${status}: ${ajv.errorsText(check.errors)}`;
}

/** With return=minimal, a try alone has a body. */
const TRIED: Schema = {
  type: "object",
  maxProperties: 1,
  required: ["dry_run"],
  properties: { dry_run: { const: true } },
};

function isMinimal({ headers }: Pick<Exchange, "headers">): boolean {
  return /return=minimal/.test(preferOf(headers));
}

function preferOf(headers: Exchange["headers"]): string {
  return Object.entries(headers).find(([name]) => /^prefer$/i.test(name))?.[1] ?? "";
}

/** The schema of the form that the request asks for, as the description of the answer says it in words. */
function expected(content: Content, type: string, { method, headers, many, status }: Exchange): Schema {
  const { schema } = content[type]!;
  const prefer = preferOf(headers);
  if (status >= 400 || method === "GET" || type !== "application/json") return schema;
  if (isMinimal({ headers })) return TRIED;
  const isWhole = /return=representation/.test(prefer);
  const record = method === "DELETE" && isWhole ? shown(content) : schema;
  // A record that is left as it is is answered by an empty array.
  if (/resolution=ignore/.test(prefer)) return many || isWhole ? arrayOf(record) : {};
  return many || isWhole ? arrayOf(record) : record;
}

const arrays = new Map<Schema, Schema>();

/** One object for each schema: compiled validators are kept by it. */
function arrayOf(items: Schema): Schema {
  if (items.type === "array") return items;
  const array = arrays.get(items) ?? { type: "array", items };
  arrays.set(items, array);
  return array;
}

/** The record that a removal has removed. */
function shown(content: Content): Schema {
  return content["application/vnd.pgrst.object+json"]!.schema.anyOf!.at(-1)!;
}

const outputs = new Map<z.ZodType, ValidateFunction>();

/** How an operation's result differs from its output schema; null when it does not. */
export function unlikeOutput({ name, output }: Operation, result: unknown): string | null {
  const check =
    outputs.get(output) ?? ajv.compile(z.toJSONSchema(output, { io: "output", unrepresentable: "any" }));
  outputs.set(output, check);
  return check(result) ? null : `${name}: ${ajv.errorsText(check.errors)}`;
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
