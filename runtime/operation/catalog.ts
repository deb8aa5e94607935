import { z } from "zod";
import { DEPRECATIONS, type Deprecation, deprecationWords, isWhole } from "#runtime/versions.ts";
import { operationsOf } from "./crud.ts";
import type { Job } from "./job.ts";
import type { Operation } from "./operation.ts";
import type { Table } from "./table.ts";

type Afterwards = NonNullable<Operation["afterwards"]>;

/** One domain of the service; to agents it is a toolset. */
export interface Domain {
  name: string;
  title: string;
  tools?: readonly Operation[];
  tables?: readonly Table[];
  jobs?: readonly Job<unknown>[];
  /** Runs behind each operation of the catalog that shapes messages. */
  afterShaping?: Afterwards;
  /** Runs before each operation of the catalog that moves players, and answers what runs behind it. */
  watchMoving?: NonNullable<Operation["watch"]>;
}

export interface Catalog {
  domains: readonly Domain[];
  /** The domains with operations for agents. */
  toolsets: readonly Domain[];
  /** By name, including the operations of the tables. */
  operations: ReadonlyMap<string, Operation>;
  /** The domain's name, by the operation's. */
  domainOf: ReadonlyMap<string, string>;
  tables: ReadonlyMap<string, Table>;
  jobs: ReadonlyMap<string, Job<unknown>>;
}

/** All that the service offers. Throws on a duplicate name, and on a deprecation of an unknown operation or field. */
export function catalog(
  domains: readonly Domain[],
  deprecations: readonly Deprecation[] = DEPRECATIONS,
): Catalog {
  const operations = new Map<string, Operation>();
  const domainOf = new Map<string, string>();
  const tables = new Map<string, Table>();
  const jobs = new Map<string, Job<unknown>>();
  const names = new Set<string>();
  const shaping = domains.flatMap(({ afterShaping }) => afterShaping ?? []);
  const watching = domains.flatMap(({ watchMoving }) => watchMoving ?? []);
  for (const domain of domains) {
    once(names, "domain", domain.name);
    for (const table of domain.tables ?? []) add(tables, "table", table);
    for (const job of domain.jobs ?? []) add(jobs, "job", job);
    for (const operation of [...(domain.tables ?? []).flatMap(operationsOf), ...(domain.tools ?? [])]) {
      const old = deprecations.filter((one) => one.operation === operation.name);
      const known = old.length > 0 ? deprecated(operation, old) : operation;
      const hooks = operation.shapesMessages ? shaping : [];
      const added = {
        ...(hooks.length > 0 && { afterwards: allOf(hooks) }),
        ...(operation.movesPlayers && watching.length > 0 && { watch: watchedBy(watching) }),
        ...(operation.decides && { others: (name: string) => operations.get(name) }),
      };
      add(operations, "operation", { ...known, ...added });
      domainOf.set(operation.name, domain.name);
    }
  }
  for (const { operation, input } of deprecations) {
    const known = operations.get(operation);
    if (!known || (input !== undefined && !Object.hasOwn(known.input.shape, input))) {
      throw new Error(`a deprecation names ${operation}${input ? `.${input}` : ""}, which does not exist`);
    }
  }
  const toolsets = toolsetsOf(domains, domainOf, operations);
  return { domains, toolsets, operations, domainOf, tables, jobs };
}

function watchedBy(watching: readonly NonNullable<Operation["watch"]>[]): NonNullable<Operation["watch"]> {
  return async (context, ids) => {
    const checks: ((ids: string[]) => Promise<void>)[] = [];
    for (const watch of watching) checks.push(await watch(context, ids));
    return async (changed) => {
      for (const check of checks) await check(changed);
    };
  };
}

function allOf(hooks: readonly Afterwards[]): Afterwards {
  return async (context, ids) => {
    for (const hook of hooks) await hook(context, ids);
  };
}

function toolsetsOf(
  domains: readonly Domain[],
  domainOf: ReadonlyMap<string, string>,
  operations: ReadonlyMap<string, Operation>,
): Domain[] {
  const offered = new Set(
    [...operations.values()]
      .filter(({ access }) => access !== "public")
      .map(({ name }) => domainOf.get(name)),
  );
  return domains.filter(({ name }) => offered.has(name));
}

/** The operation with its deprecations in its description and its fields. */
function deprecated(operation: Operation, deprecations: readonly Deprecation[]): Operation {
  const whole = deprecations.find(isWhole);
  return {
    ...operation,
    deprecations,
    description: whole ? `${operation.description} ${deprecationWords(whole)}` : operation.description,
    input: withDeprecations(operation.input, deprecations, "input"),
    output: withDeprecations(operation.output, deprecations, "output"),
  };
}

/** The schema with its deprecated fields marked, each with its advice. */
export function withDeprecations<S extends z.ZodType>(
  schema: S,
  deprecations: readonly Deprecation[],
  side: "input" | "output",
): S;
export function withDeprecations(
  schema: z.ZodType,
  deprecations: readonly Deprecation[],
  side: "input" | "output",
): z.ZodType {
  if (schema instanceof z.ZodArray) {
    return z.array(withDeprecations(schema.element as z.ZodType, deprecations, side));
  }
  if (!(schema instanceof z.ZodObject)) return schema;
  const marked = deprecations.flatMap((one) => {
    const field = one[side];
    if (field === undefined || !Object.hasOwn(schema.shape, field)) return [];
    const known: z.ZodType = schema.shape[field];
    const said = known.description ? `${known.description}. ` : "";
    const description = said + deprecationWords(one);
    return [[field, known.meta({ ...known.meta(), description, deprecated: true })]];
  });
  return schema.extend(Object.fromEntries(marked));
}

function add<T extends { name: string }>(map: Map<string, T>, kind: string, one: T): void {
  if (map.has(one.name)) throw new Error(`the catalog has two ${kind}s named ${one.name}`);
  map.set(one.name, one);
}

function once(names: Set<string>, kind: string, name: string): void {
  if (names.has(name)) throw new Error(`the catalog has two ${kind}s named ${name}`);
  names.add(name);
}
