import { readFileSync } from "node:fs";
import postgres from "postgres";
import { expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import {
  configurationPart,
  firstDifference,
  mcpJson,
  operationsPart,
  readmeWith,
} from "#transports/documents.ts";
import type { ObjectSchema } from "#transports/mcp-schemas.ts";
import { type OfferedTool, offeredTool } from "#transports/mcp-tools.ts";
import { openApi } from "#transports/openapi.ts";
import { testDatabase } from "../support/database.ts";
import { schemaText } from "./schema-facts.ts";
import { ROOT, textOf } from "./sources.ts";

const UPDATE = "If the change is meant, run: npm test -- tests/contract/drift.test.ts -u";

test("the README lists every operation and every setting as the code has them", () => {
  const readme = textOf("README.md");
  const generated = readmeWith(readme, {
    operations: operationsPart(CATALOG),
    configuration: configurationPart(),
  });
  expect(firstDifference("README.md", readme, generated)).toBeNull();
});

test("mcp.json is what an MCP client needs", () => {
  const committed = readFileSync(new URL("mcp.json", ROOT), "utf8");
  expect(firstDifference("mcp.json", committed, mcpJson())).toBeNull();
});

test("a document that has drifted is named with the line and the command", () => {
  expect(firstDifference("README.md", "a\nb\nc", "a\nx\nc")).toBe(
    "README.md:2 is not what the code says; run: npm run docs\n- b\n+ x",
  );
  expect(firstDifference("README.md", "a\nb", "a")).toContain("+ (the end)");
  expect(() => readmeWith("# No markers", { operations: "", configuration: "" })).toThrow(
    "<!-- operations -->",
  );
});

test("the tools that agents see have not changed unseen", async () => {
  const tools = [...CATALOG.operations.values()]
    .filter(({ access }) => access !== "public")
    .map((operation) => offeredTool(operation, CATALOG.domainOf.get(operation.name) ?? ""))
    .sort((a, b) => (a.operation.name < b.operation.name ? -1 : 1));
  await expect(tools.map(toolText).join("\n"), UPDATE).toMatchFileSnapshot("./__snapshots__/mcp-tools.txt");
});

test("the OpenAPI document has not changed unseen", async () => {
  const document = openApi(CATALOG, "http://127.0.0.1:8787");
  await expect(outline(document), UPDATE).toMatchFileSnapshot("./__snapshots__/openapi.txt");
});

test("every operation has one operationId of its own in OpenAPI", () => {
  const { paths } = openApi(CATALOG, "http://127.0.0.1:8787") as {
    paths: Record<string, Record<string, Described>>;
  };
  const ids = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
  expect([...CATALOG.operations.keys()].filter((name) => !ids.includes(name))).toEqual([]);
});

test("the schema has not changed unseen, and is the same on every PostgreSQL", async () => {
  const database = await testDatabase();
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    await expect(await schemaText(admin), UPDATE).toMatchFileSnapshot("./__snapshots__/schema.txt");
  } finally {
    await admin.end();
    await database.drop();
  }
});

interface Described {
  operationId: string;
  responses: Record<string, unknown>;
}

/** A line a field, so that a difference reads as one. */
function toolText({ toolset, text }: OfferedTool): string {
  const { name, inputSchema, outputSchema, annotations, ...rest } = text;
  const lines = (label: string, { properties, ...schema }: ObjectSchema) => [
    `  ${label} ${JSON.stringify(schema)}`,
    ...Object.entries(properties).map(([field, one]) => `    ${field} ${JSON.stringify(one)}`),
  ];
  return [
    `${name} (${toolset}) ${JSON.stringify(rest)}`,
    `  hints ${JSON.stringify(annotations)}`,
    ...lines("input", inputSchema),
    ...lines("output", outputSchema!),
    "",
  ].join("\n");
}

const WIDEST = 220;

/** JSON with a line for what fits into one, and lines for its fields where it does not. */
function outline(value: unknown, name = "", indent = ""): string {
  const text = brief(JSON.stringify(value));
  const label = name && `${name}: `;
  if (typeof value !== "object" || value === null || indent.length + text.length <= WIDEST)
    return `${indent}${label}${text}\n`;
  const inner = name ? `${indent}  ` : indent;
  const fields = Object.entries(value).map(([field, one]) =>
    outline(one, Array.isArray(value) ? "-" : field, inner),
  );
  return [name && `${indent}${name}:\n`, ...fields].join("");
}

/** References by their names alone, and formats without the pattern that follows from them. */
function brief(json: string): string {
  return json
    .replaceAll(/("format":"(?:uuid|date|date-time|email)"),"pattern":"(?:[^"\\]|\\.)*"/g, "$1")
    .replaceAll(/\{"\$ref":"#\/components\/\w+\/([\w-]+)"\}/g, "→$1")
    .replaceAll(/"([\w-]+)":→E?\1(?=[,}])/g, "→$1");
}
