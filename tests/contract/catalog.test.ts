import { basename } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { FAULTS } from "#runtime/faults.ts";
import { inputOf } from "#runtime/operation/columns.ts";
import type { Job } from "#runtime/operation/job.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Table } from "#runtime/operation/table.ts";
import { CATALOG } from "#tools/catalog.ts";
import { inputSchemaOf } from "#transports/mcp/listing/schemas.ts";
import { offeredTool } from "#transports/mcp/listing/tools.ts";
import { ROOT, sourcesIn, textOf } from "../support/checkout/source-files.ts";

const OPERATIONS = [...CATALOG.operations.values()];

type Defined = { path: string; value: Operation | Table | Job<unknown> };

async function defined(): Promise<Defined[]> {
  const found: Defined[] = [];
  for (const path of sourcesIn("tools")) {
    const { default: value } = (await import(new URL(path, ROOT).href)) as { default?: Defined["value"] };
    if (value) found.push({ path, value });
  }
  return found;
}

test("every file that defines a tool, a table or a job is in the catalog", async () => {
  const files = await defined();
  const known = new Set<unknown>([
    ...CATALOG.domains.flatMap(({ tools = [], tables = [], jobs = [] }) => [...tools, ...tables, ...jobs]),
  ]);
  expect(
    files.filter(({ value }) => !known.has(value)).map(({ path }) => path),
    "Name each in tools/catalog.ts, or in the domain.ts of its domain: one import, and one word among its kind.",
  ).toEqual([]);
  expect(files, "Define each tool, table and job in a file of its own, as its default export.").toHaveLength(
    known.size,
  );
});

test("a file is named after what it defines", async () => {
  const suffix = { tool: ".ts", table: ".table.ts", job: ".job.ts" };
  const misnamed = (await defined())
    .map(({ path, value }) => ({ path, wanted: value.name.replaceAll("_", "-") + suffix[value.kind] }))
    .filter(({ path, wanted }) => basename(path) !== wanted);
  expect(misnamed, "Give each file the wanted name, or the operation another one.").toEqual([]);
});

test("names are in snake case, and no two operations share one", () => {
  const names = OPERATIONS.map(({ name }) => name);
  expect(names.filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
  const domains = new Set(CATALOG.domains.map(({ name }) => name));
  expect(OPERATIONS.filter(({ name }) => !domains.has(CATALOG.domainOf.get(name) ?? ""))).toEqual([]);
});

test("every operation has a title and a description in whole sentences", () => {
  const poor = OPERATIONS.filter(
    ({ title, description }) =>
      !/^[A-Z].{2,60}$/.test(title) ||
      title.endsWith(".") ||
      description.length < 20 ||
      description.length > 600 ||
      !/^[A-Z].*\.$/s.test(description),
  );
  expect(
    poor.map(({ name, title, description }) => ({ name, title, description })),
    "A title has 3 to 61 characters and no full stop; a description has 20 to 600, in whole sentences.",
  ).toEqual([]);
});

test("every table says what its records are", () => {
  const poor = [...CATALOG.tables.values()].filter(
    ({ description }) => !/^[A-Z].{19,400}\.$/s.test(description),
  );
  expect(
    poor.map(({ name, description }) => ({ name, description })),
    "A description has 20 to 400 characters, in whole sentences.",
  ).toEqual([]);
});

test("every input field is described", () => {
  const inputs = OPERATIONS.flatMap((operation) =>
    Object.entries(inputSchemaOf(operation).properties).map(([name, { description }]) => ({
      field: `${operation.name}.${name}`,
      isDescribed: typeof description === "string" && description.length > 3,
    })),
  );
  expect(inputs.length).toBeGreaterThan(1_000);
  expect(
    inputs.filter(({ isDescribed }) => !isDescribed).map(({ field }) => field),
    'Say what the value means, by .describe("…") at its schema.',
  ).toEqual([]);
});

test("an id in an input says where it comes from", () => {
  const nameless = OPERATIONS.flatMap((operation) =>
    Object.entries(inputSchemaOf(operation).properties)
      .filter(([field, schema]) => /^id$/.test(field) && schema.format === "uuid")
      .filter(([, { description }]) => !/\b[a-z]+(_[a-z]+)+\b/.test(String(description)))
      .map(([field]) => `${operation.name}.${field}`),
  );
  expect(nameless, 'Name the operation that answers the id: .describe("From list_players").').toEqual([]);
});

test("a tool's source fields name tools that exist", () => {
  const names = new Set(OPERATIONS.map(({ name }) => name));
  const broken = OPERATIONS.flatMap((operation) =>
    [...offeredTool(operation, "").sources].flatMap(([field, tools]) =>
      tools
        .filter((tool) => /^(list|get|create|update|delete)_/.test(tool) && !names.has(tool))
        .map((tool) => `${operation.name}.${field} names ${tool}`),
    ),
  );
  expect(broken).toEqual([]);
});

test("a sentence that sends its reader to an operation names one that exists", () => {
  const verbs = new Set([...CATALOG.operations.keys()].map((name) => name.split("_")[0]));
  const named = ["tools", "transports", "runtime"]
    .flatMap(sourcesIn)
    .flatMap((path) =>
      [
        ...textOf(path).matchAll(
          /\b(?:[Uu]se|[Ss]ee|[Cc]all|[Rr]un|From) ([a-z]+(?:_[a-z]+)+)(?![\w(:]|\.\w)/g,
        ),
      ].flatMap(([, name]) => (verbs.has(name!.split("_")[0]) ? [{ path, name: name! }] : [])),
    );
  expect(named.filter(({ name }) => !CATALOG.operations.has(name))).toEqual([]);
  expect(named.length).toBeGreaterThan(100);
});

test("an operation's effect agrees with its scope, and gives all four hints of MCP", () => {
  for (const operation of OPERATIONS) {
    const { annotations } = offeredTool(operation, "").text;
    expect(
      Object.values(annotations).filter((hint) => typeof hint === "boolean"),
      operation.name,
    ).toHaveLength(4);
    expect(annotations.readOnlyHint, operation.name).toBe(operation.effect === "read");
    if (operation.effect === "read") expect(operation.scope, operation.name).toBe("read");
    else if (operation.access !== "public") expect(operation.scope, operation.name).toBe("write");
  }
});

test("the faults that an operation names are known, each once", () => {
  const odd = OPERATIONS.filter(
    ({ faults }) =>
      faults.some((code) => !Object.hasOwn(FAULTS, code)) || new Set(faults).size !== faults.length,
  );
  expect(odd.map(({ name, faults }) => ({ name, faults }))).toEqual([]);
});

test("the field that names the tenant is a required uuid of the input", () => {
  for (const operation of OPERATIONS) {
    if (operation.property === null) continue;
    const field = operation.input.shape[operation.property] as z.ZodType | undefined;
    expect(field, operation.name).toBeDefined();
    expect(field!.safeParse("not a uuid").success, operation.name).toBe(false);
  }
});

test("an operation with an input property_id or propertyId names it as its property", () => {
  const silent = OPERATIONS.filter(
    ({ input, property, access }) =>
      property === null &&
      access !== "operator" &&
      Object.keys(input.shape).some((field) => /^property_?id$/i.test(field)),
  );
  expect(
    silent.map(({ name }) => name),
    'Write property: "property_id" or property: "propertyId", so that the funnel checks the tenant.',
  ).toEqual([]);
});

test("an input is one object, with no choice at its root", () => {
  for (const operation of OPERATIONS) {
    const schema = inputSchemaOf(operation);
    expect(schema.type, operation.name).toBe("object");
    for (const choice of ["anyOf", "oneOf", "allOf", "not", "$ref"])
      expect(schema, operation.name).not.toHaveProperty(choice);
  }
});

test("a result's secrets are fields of the result", () => {
  for (const operation of OPERATIONS.filter(({ secrets }) => secrets.length > 0)) {
    const { output } = operation;
    expect(
      output instanceof z.ZodObject && operation.secrets.every((name) => name in output.shape),
      operation.name,
    ).toBe(true);
  }
});

test("every job has a number of tries and, if it is scheduled, a cron pattern", () => {
  for (const job of CATALOG.jobs.values()) {
    expect(job.attempts, job.name).toBeGreaterThan(0);
    if (job.every !== undefined)
      expect(job.every.trim().split(/\s+/).length, job.name).toBeGreaterThanOrEqual(5);
  }
});

test("an update changes only what it names: no field of a table comes with a default of its own", () => {
  const changed = [...CATALOG.tables.values()].flatMap((table) =>
    Object.keys(z.object(inputOf(table, "update")).parse({})).map((field) => `${table.name}.${field}`),
  );
  expect(changed).toEqual([]);
});
