import { readFileSync } from "node:fs";
import postgres from "postgres";
import { expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { firstDifference, generatedParts, mcpJson, withPart } from "#transports/documents.ts";
import { offeredTool } from "#transports/mcp/listing/tools.ts";
import { openApi } from "#transports/openapi/document.ts";
import { ROOT, textOf } from "../../support/checkout/source-files.ts";
import { testDatabase } from "../../support/database.ts";
import { schemaTexts } from "../../support/schema.ts";
import { openApiParts } from "./openapi-parts.ts";
import { outlines } from "./outlines.ts";
import { expectSnapshots } from "./snapshots.ts";

const UPDATE = "If the change is meant, run: npm test -- tests/contract/drift -u";
const folder = (name: string) => new URL(`__snapshots__/${name}/`, import.meta.url);

test("the guides list every operation and every setting as the code has them, and the README every guide", () => {
  const parts = generatedParts(CATALOG);
  expect(parts.map(({ name }) => name)).toEqual(["guides", "operations", "configuration"]);
  for (const part of parts) {
    const committed = textOf(part.file);
    expect(firstDifference(part.file, committed, withPart(committed, part))).toBeNull();
  }
  const operations = parts[1]!.text;
  for (const name of CATALOG.operations.keys()) expect(operations).toContain(`| \`${name}\` |`);
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
  expect(() => withPart("# No markers", { file: "a.md", name: "operations", text: "" })).toThrow(
    "a.md needs <!-- operations -->",
  );
});

test("the tools that agents see have not changed unseen", () => {
  const tools = [...CATALOG.operations.values()]
    .filter(({ access }) => access !== "public")
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((operation): [string, object] => {
      const { toolset, text } = offeredTool(operation, CATALOG.domainOf.get(operation.name) ?? "");
      const { name, ...rest } = text;
      return [name, { toolset, ...rest }];
    });
  expectSnapshots(folder("mcp"), outlines(new Map(tools)), UPDATE);
});

test("the OpenAPI document has not changed unseen", () => {
  const document = openApi(CATALOG, "http://127.0.0.1:8787");
  expectSnapshots(folder("openapi"), outlines(openApiParts(document)), UPDATE);
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
    expectSnapshots(folder("schema"), await schemaTexts(admin), UPDATE);
  } finally {
    await admin.end();
    await database.drop();
  }
});

interface Described {
  operationId: string;
  responses: Record<string, unknown>;
}
