import type { SchemaFacts } from "./schema-facts.ts";
import { fieldsOf, namesIn, nodesIn, type Query, queriesIn } from "./tree.ts";

/** Local tables, and functions that read them, in statements that write tenants' rows or test them row by row. */
export function breachesOfLocality(queries: readonly Query[], facts: SchemaFacts): string[] {
  const isWriting = queries.some(({ fields }) => facts.tenant.has(String(fieldsOf(fields.relation).relname)));
  const read = queries.flatMap((query) => sourcesOf(query, facts));
  const found = new Set(isWriting ? read.filter((table) => facts.local.has(table)) : []);
  for (const query of queries) for (const table of testedIn(query, facts)) found.add(table);
  const isAbout = isWriting || read.some((table) => facts.tenant.has(table));
  for (const name of isAbout ? queries.flatMap(functionsOf) : []) {
    if (facts.localFunctions.has(name)) found.add(`${name}()`);
  }
  return [...found];
}

/** The tables that a query reads itself: temporary ones as "a temporary table". */
function sourcesOf({ fields, ctes }: Query, facts: SchemaFacts): string[] {
  return rangesIn([fields.fromClause, fields.usingClause])
    .filter(({ relname }) => !ctes.has(String(relname)))
    .map(({ relname, schemaname }) => {
      const isKnown = facts.tables.has(String(relname)) || schemaname !== undefined;
      return isKnown || String(relname).startsWith("pg_") ? String(relname) : TEMPORARY;
    });
}

const TEMPORARY = "a temporary table";

/** Local tables in a subquery that is worked out for each of a tenant's rows, or the other way round. */
function testedIn(query: Query, facts: SchemaFacts): string[] {
  const { fields, ctes } = query;
  const isLocal = (table: string) => table === TEMPORARY || facts.local.has(table);
  const own = [...sourcesOf(query, facts), String(fieldsOf(fields.relation).relname ?? "")];
  const names = rangesIn([fields.fromClause, fields.usingClause, { RangeVar: fields.relation }]).map(
    (range) => String(fieldsOf(range.alias).aliasname ?? range.relname),
  );
  const subqueries = nodesIn([fields.targetList, fields.whereClause]).filter(
    ({ type }) => type === "SubLink",
  );
  return subqueries.flatMap(({ fields: { subselect } }) => {
    const isCorrelated = nodesIn(subselect).some(
      ({ type, fields: column }) => type === "ColumnRef" && names.includes(namesIn(column.fields)[0]!),
    );
    if (!isCorrelated) return [];
    const inner = queriesIn(subselect, ctes).flatMap((one) => sourcesOf(one, facts));
    const isTenants = (table: string) => facts.tenant.has(table);
    if (own.some(isTenants)) return inner.filter(isLocal);
    return inner.some(isTenants) ? own.filter(isLocal) : [];
  });
}

function functionsOf({ fields }: Query): string[] {
  return nodesIn(fields)
    .filter(({ type }) => type === "FuncCall")
    .map(({ fields: { funcname } }) => namesIn(funcname).at(-1)!);
}

/** The tables of a from clause, not of the queries inside it. */
function rangesIn(clauses: readonly unknown[]) {
  return nodesIn(clauses, ({ type }) => type !== "RangeSubselect" && type !== "SubLink")
    .filter(({ type }) => type === "RangeVar")
    .map(({ fields }) => fields);
}
