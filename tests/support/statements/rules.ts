import { breachesOfLocality } from "./locality.ts";
import { breachesOfRouting } from "./routing.ts";
import type { SchemaFacts } from "./schema-facts.ts";
import {
  type Fields,
  type Found,
  fieldsOf,
  listOf,
  namesIn,
  nodesIn,
  type Query,
  queriesIn,
} from "./tree.ts";
import { hasColumn, isMutable, nameOf, volatilityOf } from "./volatility.ts";

/** The rules by which a statement can run on tables that are distributed by property_id, and how to keep each. */
export const RULES = {
  A: "`do update set` takes immutable functions alone: write excluded.updated_at instead of now()",
  B: "`insert … select` needs `returning` or `on conflict`: add `returning 1`",
  C: "`values` and `do update` take no subquery: write `insert … select`, and select what `do update` needs",
  D: "an update or a delete takes no volatile function, none that is not immutable inside case or coalesce, and no stable one over a column: read the moment in a CTE",
  E: "`returning` takes immutable expressions alone: return the columns, and print them in a select around it",
  F: "a statement that writes tenants' rows, or tests them by a correlated subquery, reads no local table: ask for the ids first, and pass them",
  G: "each tenant's table in a statement has a property_id = $n of its own",
  H: "a statement that writes tenants' rows reads a JSON object as an array of one, by json_to_recordset: Citus calls json_to_record without its columns",
  I: "a select of tenants' rows equals nothing to now(), which is the time of the rows' own node: pass the transaction's start",
  J: "`do update` of an `insert … select` takes no parameter: write a constant, or select the value and write excluded.",
  K: "an update, a delete and an insert of values take no `case x when y`: write `case when x = y`",
} as const;

export type Rule = keyof typeof RULES;

export interface Breach {
  rule: Rule;
  /** The cause: a function, or a table. */
  by: string;
}

/** Where a parsed statement breaks the rules. */
export function breachesOf(statement: unknown, facts: SchemaFacts): Breach[] {
  const queries = queriesIn(statement);
  const writes = queries.filter(({ fields }) => isSpread(targetOf(fields), facts));
  return [
    ...writes.flatMap((write) => [
      ...ofConflict(write, facts),
      ...ofParameters(write, statement),
      ...ofInsert(write, facts),
      ...ofChange(write, facts),
      ...ofReturning(write, facts),
    ]),
    ...(writes.length > 0 ? ofRecords(statement) : []),
    ...ofChoices(statement, facts),
    ...queries.flatMap((query) => ofMoment(query, facts)),
    ...breachesOfLocality(queries, facts).map((by) => ({ rule: "F" as const, by })),
    ...breachesOfRouting(queries, facts).map((by) => ({ rule: "G" as const, by })),
  ];
}

/** The table that a query writes, or "". */
export function targetOf({ relation }: Fields): string {
  return String(fieldsOf(relation).relname ?? "");
}

/** Distributed, or whole on every node. */
function isSpread(table: string, facts: SchemaFacts): boolean {
  return facts.tables.has(table) && !facts.local.has(table);
}

function ofConflict({ fields }: Query, facts: SchemaFacts): Breach[] {
  const { targetList, whereClause } = fieldsOf(fields.onConflictClause);
  return mutableIn([targetList, whereClause], facts).map((found) => ({ rule: "A", by: nameOf(found) }));
}

/**
 * The log of statements writes constants as parameters, numbered by their place after all true ones. So one that
 * stands behind a higher number is true; another may be a constant.
 */
function ofParameters({ fields }: Query, statement: unknown): Breach[] {
  if (valuesOf(fields)) return [];
  const all = parametersIn(statement);
  const isTrue = (one: Fields) =>
    all.some(
      (other) => Number(other.location) < Number(one.location) && Number(other.number) > Number(one.number),
    );
  const { targetList, whereClause } = fieldsOf(fields.onConflictClause);
  return parametersIn([targetList, whereClause]).some(isTrue) ? [{ rule: "J", by: targetOf(fields) }] : [];
}

function parametersIn(value: unknown): Fields[] {
  return nodesIn(value)
    .filter(({ type }) => type === "ParamRef")
    .map(({ fields }) => fields);
}

function ofInsert({ type, fields }: Query, facts: SchemaFacts): Breach[] {
  if (type !== "InsertStmt") return [];
  const table = targetOf(fields);
  const values = valuesOf(fields);
  if (isIn("SubLink", [values, fields.onConflictClause])) return [{ rule: "C", by: table }];
  if (values) return [];
  const isGuarded = !fields.selectStmt || fields.returningClause || fields.onConflictClause;
  return isGuarded || !facts.tenant.has(table) ? [] : [{ rule: "B", by: table }];
}

function valuesOf({ selectStmt }: Fields): unknown {
  return fieldsOf(fieldsOf(selectStmt).SelectStmt).valuesLists;
}

function ofChange({ type, fields }: Query, facts: SchemaFacts): Breach[] {
  if (type !== "UpdateStmt" && type !== "DeleteStmt") return [];
  const written = [fields.targetList, fields.whereClause];
  const refused = [
    ...nodesIn(written).filter((found) => volatilityOf(found, facts) === "volatile"),
    ...nodesIn(written)
      .filter((found) => found.type === "CaseExpr" || found.type === "CoalesceExpr")
      .flatMap((choice) => mutableIn(choice.fields, facts)),
    ...mutableIn(written, facts).filter((found) => hasColumn(found.fields, facts)),
  ];
  return [...new Set(refused.map(nameOf))].map((by) => ({ rule: "D", by }));
}

function ofReturning({ fields }: Query, facts: SchemaFacts): Breach[] {
  const { exprs } = fieldsOf(fields.returningClause);
  return mutableIn(listOf(exprs), facts).map((found) => ({ rule: "E", by: nameOf(found) }));
}

function ofMoment({ type, fields }: Query, facts: SchemaFacts): Breach[] {
  if (type !== "SelectStmt" || !nodesIn(fields.fromClause).some((found) => isTenant(found, facts))) return [];
  const compared = nodesIn([fields.targetList, fields.whereClause]).filter(
    ({ type: node, fields: { name, lexpr, rexpr } }) =>
      node === "A_Expr" && namesIn(name).join() === "=" && [lexpr, rexpr].some(isNow),
  );
  return compared.map(() => ({ rule: "I", by: "now()" }));
}

function isTenant({ type, fields }: Found, facts: SchemaFacts): boolean {
  return type === "RangeVar" && facts.tenant.has(String(fields.relname));
}

function isNow(value: unknown): boolean {
  return namesIn(fieldsOf(fieldsOf(value).FuncCall).funcname).at(-1) === "now";
}

function ofRecords(statement: unknown): Breach[] {
  return nodesIn(statement)
    .filter(({ type, fields }) => type === "FuncCall" && /^jsonb?_to_record$/.test(lastNameOf(fields)))
    .map(({ fields }) => ({ rule: "H", by: `${lastNameOf(fields)}()` }));
}

/** In a write and its own CTEs: the coordinator computes what is constant in them, and Citus misreads such a case. */
function ofChoices(statement: unknown, facts: SchemaFacts): Breach[] {
  return nodesIn(statement)
    .filter(({ type, fields }) => /^(Update|Delete)Stmt$/.test(type) || valuesOf(fields))
    .filter(({ fields }) => facts.tenant.has(targetOf(fields)))
    .flatMap(({ fields }) => nodesIn(fields))
    .filter(({ type, fields }) => type === "CaseExpr" && fields.arg !== undefined)
    .map(() => ({ rule: "K", by: "case" }));
}

function lastNameOf({ funcname }: Fields): string {
  return namesIn(funcname).at(-1) ?? "";
}

function mutableIn(value: unknown, facts: SchemaFacts): Found[] {
  return nodesIn(value).filter((found) => isMutable(found, facts));
}

function isIn(type: string, value: unknown): boolean {
  return nodesIn(value).some((found) => found.type === type);
}
