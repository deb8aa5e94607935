import type { Catalog } from "#runtime/operation/catalog.ts";
import { readableOf } from "#runtime/operation/columns.ts";
import { isVersioned } from "#runtime/operation/etag.ts";
import { recordsAnswer } from "#runtime/operation/operation.ts";
import { routesOf } from "#runtime/operation/rest-paths.ts";
import { CURRENT_VERSION, isWhole } from "#runtime/versions.ts";
import { PATH } from "#transports/mcp/identity.ts";
import { canUpsert, isConditional, successes } from "./answers.ts";
import { requestBody, uploadParameters } from "./bodies.ts";
import { CALLBACKS_PATH, callbacksPath } from "./callbacks.ts";
import { type Endpoint, endpointOf } from "./endpoint.ts";
import { introduction, TAGS } from "./introduction.ts";
import { JSON_RPC, MCP_TAG, mcpPath } from "./mcp.ts";
import {
  dryRunParameter,
  filterParameters,
  idParameter,
  listParameters,
  parameters,
  rowParameters,
  selectParameter,
  writeParameters,
  zipParameter,
} from "./parameters.ts";
import { ERROR, errorResponses, headerReferences, headers, responses } from "./responses.ts";
import { type Json, recordSchemas, type Schemas, withReferences } from "./schemas.ts";

/** The OpenAPI 3.1 document of the catalog. */
export function openApi(catalog: Catalog, baseUrl: string): Json {
  const paths: Record<string, Json> = {};
  const schemas: Schemas = new Map();
  for (const operation of catalog.operations.values()) {
    const isUpsert = canUpsert(operation, catalog.operations.values());
    for (const [path, method] of routesOf(operation)) {
      paths[path] ??= {};
      paths[path][method] = describe(endpointOf(operation, [path, method], isUpsert), catalog, schemas);
    }
  }
  if (catalog.domains.some(({ name }) => name === "providers")) {
    paths[CALLBACKS_PATH] = callbacksPath(headerReferences());
  }
  paths[PATH] = mcpPath();
  const records = recordSchemas(catalog, schemas);
  return {
    openapi: "3.1.0",
    info: {
      title: "Player Marketing Service",
      version: CURRENT_VERSION,
      description: introduction(baseUrl),
      contact: { name: "Player Marketing Service", url: `${baseUrl}/docs` },
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: [
      ...catalog.domains.map(({ name, title }) => ({ name, description: TAGS[name] ?? title })),
      MCP_TAG,
    ],
    paths: withReferences(paths, records),
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "X-Api-Key" },
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "An API key (pk_…) or a JWT from /api/auth/login.",
        },
      },
      parameters: parameters(),
      headers: headers(),
      schemas: {
        Error: ERROR,
        JsonRpc: JSON_RPC,
        ...records,
        ...Object.fromEntries(schemas),
      },
      responses: responses(catalog),
    },
  };
}

function describe(endpoint: Endpoint, catalog: Catalog, schemas: Schemas): Json {
  const { operation, method, isMatching } = endpoint;
  const hasBody = method !== "get" && operation.crud?.verb !== "delete";
  return {
    operationId: operationId(endpoint),
    summary: isMatching ? `${operation.title} (all that match)` : operation.title,
    description: [
      operation.description,
      ...(isMatching
        ? [
            "It applies to every record that the filters match, in one transaction. At least one filter is required.",
          ]
        : []),
    ].join(" "),
    ...(operation.deprecations.some(isWhole) && { deprecated: true }),
    tags: [catalog.domainOf.get(operation.name)],
    ...(operation.access === "public" && { security: [] }),
    parameters: [
      ...addressParameters(endpoint, schemas),
      ...headerParameters(endpoint).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(hasBody && { requestBody: requestBody(operation, schemas) }),
    responses: { ...successes(endpoint, schemas), ...errorResponses(operation) },
  };
}

/** The parameters in the path and the query. */
function addressParameters(endpoint: Endpoint, schemas: Schemas): Json[] {
  const { operation, isRecord, isRows, isMatching } = endpoint;
  const { crud } = operation;
  return [
    ...(isRecord || isRows ? [idParameter(crud?.table ?? operation.beneath!.table)] : []),
    ...(isRows ? rowParameters(operation) : []),
    ...(operation.zipped ? [zipParameter()] : []),
    // A file's parameters have their own.
    ...(crud && operation.effect !== "read" && !operation.upload ? [dryRunOf(endpoint)] : []),
    ...(crud?.verb === "create" && !operation.upload ? writeParameters(crud.table, endpoint.isUpsert) : []),
    ...(crud?.verb === "list" ? listParameters(crud.table) : []),
    ...(crud?.verb === "get" ? [selectParameter(Object.keys(readableOf(crud.table).columns))] : []),
    ...(isMatching ? filterParameters(crud!.table) : []),
    ...uploadParameters(operation, schemas),
  ];
}

/** A removal and a change of many offer a form the dry run first. */
function dryRunOf({ operation, isMatching }: Endpoint): Json {
  return dryRunParameter(operation.crud?.verb === "delete" || isMatching ? true : undefined);
}

/** The header parameters, by their names in the components. */
function headerParameters(endpoint: Endpoint): string[] {
  const { operation, method, isRecord, isRows } = endpoint;
  const { crud } = operation;
  const reads = method === "get";
  return [
    "PropertyId",
    "ApiVersion",
    ...(recordsAnswer(operation) && !reads ? ["IdempotencyKey"] : []),
    ...(crud && isRecord && isVersioned(crud.table) && !reads ? ["IfMatch"] : []),
    ...(isConditional(endpoint) ? ["IfNoneMatch"] : []),
    ...(crud || isRows ? [reads ? "PreferReading" : "PreferWriting"] : []),
  ];
}

function operationId({ operation: { name, crud }, method, isMatching }: Endpoint): string {
  if (isMatching) return `${name}_matching`;
  return method === "get" && !crud ? `${name}_get` : name;
}
