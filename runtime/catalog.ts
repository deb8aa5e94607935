import { operationsOf } from "./crud.ts";
import type { Job, Operation, Table } from "./operation.ts";
import { DEPRECATIONS, type Deprecation } from "./versions.ts";

/** One domain of the service; to agents it is a toolset. */
export interface Domain {
  name: string;
  title: string;
  tools?: readonly Operation[];
  tables?: readonly Table[];
  jobs?: readonly Job<unknown>[];
}

export interface Catalog {
  domains: readonly Domain[];
  /** By name; those that come with the tables are among them. */
  operations: ReadonlyMap<string, Operation>;
  /** The operation, by each of its former names. */
  aliases: ReadonlyMap<string, Operation>;
  /** The domain's name, by the operation's. */
  domainOf: ReadonlyMap<string, string>;
  tables: ReadonlyMap<string, Table>;
  jobs: ReadonlyMap<string, Job<unknown>>;
  deprecations: readonly Deprecation[];
}

/** Everything that the service can be asked. Throws on a name that is given twice, and on a deprecation of nothing. */
export function catalog(
  domains: readonly Domain[],
  deprecations: readonly Deprecation[] = DEPRECATIONS,
): Catalog {
  const operations = new Map<string, Operation>();
  const domainOf = new Map<string, string>();
  const tables = new Map<string, Table>();
  const jobs = new Map<string, Job<unknown>>();
  const names = new Set<string>();
  for (const domain of domains) {
    once(names, "domain", domain.name);
    for (const table of domain.tables ?? []) add(tables, "table", table);
    for (const job of domain.jobs ?? []) add(jobs, "job", job);
    for (const operation of [...(domain.tables ?? []).flatMap(operationsOf), ...(domain.tools ?? [])]) {
      add(operations, "operation", operation);
      domainOf.set(operation.name, domain.name);
    }
  }
  const aliases = new Map<string, Operation>();
  for (const operation of operations.values()) {
    for (const name of operation.aliases) {
      if (operations.has(name) || aliases.has(name)) {
        throw new Error(`the catalog has two operations named ${name}`);
      }
      aliases.set(name, operation);
    }
  }
  for (const { operation, input } of deprecations) {
    const known = operations.get(operation);
    if (!known || (input !== undefined && !Object.hasOwn(known.input.shape, input))) {
      throw new Error(`the deprecation of ${operation}${input ? `.${input}` : ""} is of nothing`);
    }
  }
  return { domains, operations, aliases, domainOf, tables, jobs, deprecations };
}

/** The operation of this name, or of this former name. */
export function operationNamed({ operations, aliases }: Catalog, name: string): Operation | undefined {
  return operations.get(name) ?? aliases.get(name);
}

/** What is deprecated of one operation. */
export function deprecationsOf({ deprecations }: Catalog, { name }: Operation): Deprecation[] {
  return deprecations.filter(({ operation }) => operation === name);
}

function add<T extends { name: string }>(map: Map<string, T>, kind: string, one: T): void {
  if (map.has(one.name)) throw new Error(`the catalog has two ${kind}s named ${one.name}`);
  map.set(one.name, one);
}

function once(names: Set<string>, kind: string, name: string): void {
  if (names.has(name)) throw new Error(`the catalog has two ${kind}s named ${name}`);
  names.add(name);
}
