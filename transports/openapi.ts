import { z } from "zod";
import { type Catalog, deprecationsOf } from "#runtime/catalog.ts";
import { columnsOf } from "#runtime/columns.ts";
import { isVersioned } from "#runtime/etag.ts";
import { keepsAnswer, type Operation, type Table, type Verb } from "#runtime/operation.ts";
import { CURRENT_VERSION, type Deprecation, deprecationWords } from "#runtime/versions.ts";
import { JOB_ROWS } from "./job-rows.ts";
import { withDeprecations } from "./mcp-tools.ts";
import { CALLBACKS_PATH, callbacksPath } from "./openapi-callbacks.ts";
import {
  DRY_RUN_OF_MANY_PARAMETER,
  DRY_RUN_PARAMETER,
  filterParameters,
  ID_PARAMETER,
  listParameters,
  parameters,
  rowParameters,
} from "./openapi-parameters.ts";
import { ERROR, errorResponses, headerReferences, headers, responses } from "./openapi-responses.ts";
import { methodsOf, pathOf } from "./rest.ts";

type Json = Record<string, unknown>;

/** The OpenAPI 3.1 document of the catalog. */
export function openApi(catalog: Catalog, baseUrl: string): Json {
  const paths: Record<string, Json> = {};
  const schemas: Schemas = new Map();
  for (const operation of catalog.operations.values()) {
    for (const [path, method] of placesOf(operation)) {
      paths[path] ??= {};
      paths[path][method] = describe(operation, catalog, [path, method], schemas);
    }
  }
  if (catalog.domains.some(({ name }) => name === "providers")) {
    paths[CALLBACKS_PATH] = callbacksPath(headerReferences());
  }
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
    tags: catalog.domains.map(({ name, title }) => ({ name, description: title })),
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
      schemas: { Error: ERROR, ...records, ...Object.fromEntries(schemas) },
      responses: responses(catalog),
    },
  };
}

/** Each path and method, in lower case, at which an operation is reached over REST. */
export function placesOf(operation: Operation): [string, string][] {
  if (!operation.crud) {
    const rows = JOB_ROWS.filter(({ list }) => list === operation).map(({ path }): [string, string] => [
      path,
      "get",
    ]);
    return [
      ...methodsOf(operation).map((method): [string, string] => [pathOf(operation), method.toLowerCase()]),
      ...rows,
    ];
  }
  const { table, verb } = operation.crud;
  const collection = `/api/${table.name}`;
  const record = `${collection}/{id}`;
  const places: Record<Verb, [string, string][]> = {
    list: [[collection, "get"]],
    create: [[collection, "post"]],
    get: [[record, "get"]],
    update: [
      [record, "patch"],
      [collection, "patch"],
    ],
    delete: [
      [record, "delete"],
      [collection, "delete"],
    ],
  };
  return places[verb];
}

function describe(
  operation: Operation,
  catalog: Catalog,
  [path, method]: [string, string],
  schemas: Schemas,
): Json {
  const { crud } = operation;
  const onRecord = crud !== undefined && path.includes("{id}");
  const isRows = !crud && path.includes("{id}");
  const isMatching = crud !== undefined && !onRecord && (crud.verb === "update" || crud.verb === "delete");
  const keyed = keepsAnswer(operation) && method !== "get";
  const parameterNames = [
    "PropertyId",
    "ApiVersion",
    ...(keyed ? ["IdempotencyKey"] : []),
    ...(onRecord && isVersioned(crud.table) && crud.verb !== "get" ? ["IfMatch"] : []),
  ];
  const deprecations = deprecationsOf(catalog, operation);
  const whole = deprecations.find(({ input, output }) => input === undefined && output === undefined);
  const hasEtag =
    crud !== undefined &&
    isVersioned(crud.table) &&
    (crud.verb === "create" || (onRecord && crud.verb !== "delete"));
  const hasBody = method !== "get" && crud?.verb !== "delete";
  return {
    operationId: operationId(operation, method, isMatching),
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
      ...(onRecord || isRows ? [ID_PARAMETER] : []),
      ...(isRows ? rowParameters(operation) : []),
      ...(crud?.verb === "delete" || isMatching ? [DRY_RUN_PARAMETER] : []),
      ...(crud?.verb === "create" && operation.status === 201 ? [DRY_RUN_OF_MANY_PARAMETER] : []),
      ...(crud?.verb === "list" ? listParameters(crud.table) : []),
      ...(isMatching ? filterParameters(crud.table) : []),
      ...parameterNames.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ],
    ...(hasBody && { requestBody: requestBody(operation, deprecations, schemas) }),
    responses: {
      [operation.status]: {
        description: "Success.",
        headers: headerReferences(hasEtag ? ["ETag"] : []),
        content: {
          ...resultContent(operation, deprecations, schemas, isMatching),
          ...(isRows && { "text/csv": { schema: { type: "string" } } }),
        },
      },
      ...errorResponses(operation),
    },
  };
}

function operationId({ name, crud }: Operation, method: string, isMatching: boolean): string {
  if (isMatching) return `${name}_matching`;
  return method === "get" && !crud ? `${name}_get` : name;
}

function requestBody(operation: Operation, deprecations: readonly Deprecation[], schemas: Schemas): Json {
  const input = operation.crud?.verb === "update" ? operation.input.omit({ id: true }) : operation.input;
  const schema = withDeprecations(jsonSchema(input, "input", schemas), deprecations, "input");
  const required = Array.isArray(schema.required) && schema.required.length > 0;
  return { required, content: { "application/json": { schema } } };
}

function resultContent(
  operation: Operation,
  deprecations: readonly Deprecation[],
  schemas: Schemas,
  isMatching: boolean,
): Json {
  const { file } = operation;
  if (file) return { [file.contentType.split(";")[0]!]: { schema: { type: "string" } } };
  const schema = resultSchema(operation, deprecations, schemas);
  return { "application/json": { schema: isMatching ? { type: "array", items: schema } : schema } };
}

function resultSchema(operation: Operation, deprecations: readonly Deprecation[], schemas: Schemas): Json {
  const { crud } = operation;
  const output = () =>
    withDeprecations(jsonSchema(operation.output, "output", schemas), deprecations, "output");
  if (!crud) return output();
  const reference = { $ref: `#/components/schemas/${schemaName(crud.table)}` };
  if (crud.verb === "list") return { type: "array", items: reference };
  if (crud.verb === "delete") return output();
  if (crud.verb === "create" && operation.secrets.length > 0) return output();
  return reference;
}

function recordSchemas(catalog: Catalog, schemas: Schemas): Json {
  return Object.fromEntries(
    [...catalog.tables.values()].map((table) => {
      const columns = Object.entries(columnsOf(table)).map(([name, { schema }]) => [
        name,
        jsonSchema(schema, "output", schemas),
      ]);
      const required = columns.map(([name]) => name);
      const schema = {
        type: "object",
        description: table.description,
        properties: Object.fromEntries(columns),
        required,
      };
      const deprecations = catalog.deprecations.filter(
        ({ operation }) => catalog.operations.get(operation)?.crud?.table === table,
      );
      return [schemaName(table), withDeprecations(schema, deprecations, "output")];
    }),
  );
}

function schemaName(table: Table): string {
  return table.noun.replace(/(^|_)([a-z])/g, (_, _gap, letter: string) => letter.toUpperCase());
}

/** What several places refer to, by name. */
type Schemas = Map<string, Json>;

/** A zod schema as JSON Schema 2020-12, which OpenAPI 3.1 is. What refers to itself goes to the components. */
function jsonSchema(schema: z.ZodType, io: "input" | "output", schemas: Schemas): Json {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  const text = JSON.stringify(whole).replaceAll(/"#\/\$defs\/(\w+)"/g, (_, name) =>
    JSON.stringify(`#/components/schemas/${named(name, io)}`),
  );
  const { $defs = {}, ...json } = JSON.parse(text) as Json & { $defs?: Record<string, Json> };
  for (const [name, { id: _id, ...definition }] of Object.entries($defs)) {
    schemas.set(named(name, io), definition);
  }
  return json;
}

/** What is filled in on the way in is always there on the way out. */
function named(name: string, io: "input" | "output"): string {
  return io === "input" ? `${name}Input` : name;
}
