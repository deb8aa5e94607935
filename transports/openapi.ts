import { type Catalog, deprecationsOf } from "#runtime/catalog.ts";
import { isVersioned } from "#runtime/etag.ts";
import { keepsAnswer } from "#runtime/operation.ts";
import { CURRENT_VERSION, deprecationWords } from "#runtime/versions.ts";
import { PATH } from "./mcp-identity.ts";
import { canUpsert, NOTHING, successes } from "./openapi-answers.ts";
import { requestBody, uploadParameters } from "./openapi-bodies.ts";
import { CALLBACKS_PATH, callbacksPath } from "./openapi-callbacks.ts";
import { JSON_RPC, MCP_TAG, mcpPath } from "./openapi-mcp.ts";
import {
  DRY_RUN_OF_MANY_PARAMETER,
  DRY_RUN_PARAMETER,
  filterParameters,
  ID_PARAMETER,
  listParameters,
  parameters,
  rowParameters,
  writeParameters,
} from "./openapi-parameters.ts";
import { ERROR, errorResponses, headerReferences, headers, responses } from "./openapi-responses.ts";
import { type Json, recordSchemas, type Schemas } from "./openapi-schemas.ts";
import { type Place, placeAt, placesOf } from "./rest-places.ts";

/** The OpenAPI 3.1 document of the catalog. */
export function openApi(catalog: Catalog, baseUrl: string): Json {
  const paths: Record<string, Json> = {};
  const schemas: Schemas = new Map();
  for (const operation of catalog.operations.values()) {
    const upserts = canUpsert(operation, catalog.operations.values());
    for (const [path, method] of placesOf(operation)) {
      paths[path] ??= {};
      paths[path][method] = describe(placeAt(operation, [path, method], upserts), catalog, schemas);
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
      description:
        "Casino player marketing: players, consent, compliance, segments, campaigns, webhooks. The same operations are tools at /api/mcp.",
      contact: { name: "Player Marketing Service", url: `${baseUrl}/docs` },
      license: { name: "Proprietary", identifier: "LicenseRef-Proprietary" },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: [...catalog.domains.map(({ name, title }) => ({ name, description: title })), MCP_TAG],
    paths,
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
        Nothing: NOTHING,
        JsonRpc: JSON_RPC,
        ...records,
        ...Object.fromEntries(schemas),
      },
      responses: responses(catalog),
    },
  };
}

function describe(place: Place, catalog: Catalog, schemas: Schemas): Json {
  const { operation, method, isMatching } = place;
  const deprecations = deprecationsOf(catalog, operation);
  const whole = deprecations.find(({ input, output }) => input === undefined && output === undefined);
  const hasBody = method !== "get" && operation.crud?.verb !== "delete";
  return {
    operationId: operationId(place),
    summary: isMatching ? `${operation.title} (all that match)` : operation.title,
    description: [
      operation.description,
      ...(isMatching
        ? ["Here: every record that the filters match, in one transaction. At least one filter."]
        : []),
      ...(whole ? [deprecationWords(whole)] : []),
    ].join(" "),
    ...(whole && { deprecated: true }),
    tags: [catalog.domainOf.get(operation.name)],
    ...(operation.access === "public" && { security: [] }),
    parameters: [
      ...addressParameters(place, schemas),
      ...headerParameters(place).map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(hasBody && { requestBody: requestBody(operation, deprecations, schemas) }),
    responses: { ...successes(place, deprecations, schemas), ...errorResponses(operation) },
  };
}

/** What stands in the address. */
function addressParameters(place: Place, schemas: Schemas): Json[] {
  const { operation, onRecord, isRows, isMatching } = place;
  const { crud } = operation;
  return [
    ...(onRecord || isRows ? [ID_PARAMETER] : []),
    ...(isRows ? rowParameters(operation) : []),
    ...(crud?.verb === "delete" || isMatching ? [DRY_RUN_PARAMETER] : []),
    ...(crud?.verb === "create" && operation.status === 201 ? [DRY_RUN_OF_MANY_PARAMETER] : []),
    ...(crud?.verb === "create" && !operation.upload ? writeParameters(crud.table, place.upserts) : []),
    ...(crud?.verb === "list" ? listParameters(crud.table) : []),
    ...(isMatching ? filterParameters(crud!.table) : []),
    ...uploadParameters(operation, schemas),
  ];
}

/** By the names of the components that describe them. */
function headerParameters({ operation, method, onRecord, isRows }: Place): string[] {
  const { crud } = operation;
  const reads = method === "get";
  return [
    "PropertyId",
    "ApiVersion",
    ...(keepsAnswer(operation) && !reads ? ["IdempotencyKey"] : []),
    ...(crud && onRecord && isVersioned(crud.table) && !reads ? ["IfMatch"] : []),
    ...(crud || isRows ? [reads ? "PreferReading" : "PreferWriting"] : []),
  ];
}

function operationId({ operation: { name, crud }, method, isMatching }: Place): string {
  if (isMatching) return `${name}_matching`;
  return method === "get" && !crud ? `${name}_get` : name;
}
