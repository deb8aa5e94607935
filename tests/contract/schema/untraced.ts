import { TRACES } from "#tools/privacy/traces/all.ts";
import { type Column, tenantTables } from "../../support/schema.ts";
import { BARE, IMPERSONAL } from "./impersonal.ts";

/** Names by which a column tells that it knows a person. */
const TELLING =
  /(^|_)(player(?!_limit$)|email|phone|address|addresses|recipient|ip|user_agent|first_name|last_name|birth_date|anon_id)($|_)/;

/**
 * The gaps in the registry of traces (tools/privacy/traces/all.ts) against the schema: each a sentence. A table is
 * in TRACES, or in IMPERSONAL with the reason; a column of a row that outlives its person is in `set` or `kept`.
 */
export function untraced(columns: readonly Column[]): string[] {
  const tables = [...new Set(columns.map(({ table }) => table))];
  const traced = new Set(TRACES.map(({ table }) => table));
  const tenants = tenantTables([...columns]);
  const columnsOf = (table: string) =>
    columns.filter((one) => one.table === table && !one.default?.startsWith("generated"));
  return [
    ...tables
      .filter((table) => !traced.has(table) && !Object.hasOwn(IMPERSONAL, table))
      .map((table) => `${table} is neither in TRACES nor in IMPERSONAL`),
    ...[...traced].filter((table) => Object.hasOwn(IMPERSONAL, table)).map((table) => `${table} is in both`),
    ...[...traced, ...Object.keys(IMPERSONAL)]
      .filter((table) => !tables.includes(table))
      .map((table) => `${table} is no table`),
    ...columns
      .filter(
        ({ table, column }) =>
          Object.hasOwn(IMPERSONAL, table) && tenants.includes(table) && TELLING.test(column),
      )
      .map(({ table, column }) => `${table}.${column} knows a person, and ${table} is in IMPERSONAL`),
    ...TRACES.flatMap(({ table, erasure }) => {
      if (typeof erasure !== "object") return [];
      const known = [...Object.keys(erasure.set), ...erasure.kept];
      const real = columnsOf(table).map(({ column }) => column);
      return [
        ...real
          .filter((column) => ![...BARE, ...known].includes(column))
          .map((column) => `${table}.${column} is neither in set nor in kept`),
        ...known
          .filter((column) => !real.includes(column))
          .map((column) => `${table}.${column} is no column`),
        ...erasure.kept
          .filter((column) => Object.hasOwn(erasure.set, column))
          .map((column) => `${table}.${column} is in set and in kept`),
      ];
    }),
  ];
}
