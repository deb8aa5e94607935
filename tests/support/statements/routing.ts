import type { SchemaFacts } from "./schema-facts.ts";
import { type Fields, fieldsOf, listOf, namesIn, nodesIn, type Query } from "./tree.ts";

/** The tenants' tables that one query names itself, and what says of whom they are. */
interface Block {
  /** Each table by the name that the query knows it by. */
  tables: Map<string, string>;
  conditions: unknown[];
  /** Names on both sides of a join `using (property_id)`. */
  shared: string[][];
}

/**
 * Tables that a statement reads or changes without a property_id = $n of their own. One that is joined by property_id
 * to a table of the same query that has it is routed along; one that is compared with a CTE, or with a query around
 * it, is not.
 */
export function breachesOfRouting(queries: readonly Query[], facts: SchemaFacts): string[] {
  return queries.flatMap((query) => {
    const block = blockOf(query, facts);
    const routed = routedIn(block, facts);
    return [...block.tables].filter(([name]) => !routed.has(name)).map(([, table]) => table);
  });
}

function blockOf({ type, fields, ctes }: Query, facts: SchemaFacts): Block {
  const block: Block = { tables: new Map(), conditions: [fields.whereClause], shared: [] };
  const take = (item: unknown): string[] => {
    const { RangeVar: table, JoinExpr: join } = fieldsOf(item);
    if (join) {
      const { larg, rarg, quals, usingClause } = fieldsOf(join);
      const names = [...take(larg), ...take(rarg)];
      block.conditions.push(quals);
      if (namesIn(usingClause).includes("property_id")) block.shared.push(names);
      return names;
    }
    const { relname, alias, schemaname } = fieldsOf(table);
    const isCte = schemaname === undefined && ctes.has(String(relname));
    if (isCte || !facts.tenant.has(String(relname))) return [];
    const name = String(fieldsOf(alias).aliasname ?? relname);
    block.tables.set(name, String(relname));
    return [name];
  };
  for (const item of [...listOf(fields.fromClause), ...listOf(fields.usingClause)]) take(item);
  if (type === "UpdateStmt" || type === "DeleteStmt") take({ RangeVar: fields.relation });
  return block;
}

function routedIn({ tables, conditions, shared }: Block, facts: SchemaFacts): Set<string> {
  const routed = new Set<string>();
  const pairs: string[][] = [...shared];
  for (const [left, right] of conditions.flatMap(equalities)) {
    const names = [left, right].map((side) => tablesOf(side, tables));
    const [one, other] = names as [string[], string[]];
    if (one.length > 0 && other.length > 0) pairs.push([...one, ...other]);
    else if (isGiven(one.length > 0 ? right : left, facts))
      for (const name of [...one, ...other]) routed.add(name);
  }
  // A pair routes its other half, which may be half of another pair.
  for (const _ of pairs) {
    for (const names of pairs)
      if (names.some((name) => routed.has(name))) for (const name of names) routed.add(name);
  }
  return routed;
}

/** Both sides of each equation that must hold; of rows, column by column. */
function equalities(condition: unknown): [unknown, unknown][] {
  const { BoolExpr: all, A_Expr: one } = fieldsOf(condition);
  const { boolop, args } = fieldsOf(all);
  if (boolop === "AND_EXPR") return listOf(args).flatMap(equalities);
  const { kind, name, lexpr, rexpr } = fieldsOf(one);
  if (kind !== "AEXPR_OP" || namesIn(name).join() !== "=") return [];
  const left = listOf(fieldsOf(fieldsOf(lexpr).RowExpr).args);
  const right = listOf(fieldsOf(fieldsOf(rexpr).RowExpr).args);
  if (left.length === 0 || left.length !== right.length) return [[lexpr, rexpr]];
  return left.map((side, index) => [side, right[index]]);
}

/** The names of the tables whose property_id the expression is. Without a name before it, it is every table's. */
function tablesOf(expression: unknown, tables: ReadonlyMap<string, string>): string[] {
  const { ColumnRef: column } = fieldsOf(expression);
  const names = namesIn(fieldsOf(column).fields);
  if (names.at(-1) !== "property_id") return [];
  if (names.length === 1) return tables.size === 1 ? [...tables.keys()] : [];
  return tables.has(names[0]!) ? [names[0]!] : [];
}

/** A parameter, a constant, or what is made of them: known before the statement is planned. */
function isGiven(expression: unknown, facts: SchemaFacts): boolean {
  return nodesIn(expression).every(
    ({ type, fields }) => type !== "SubLink" && !isColumn(type, fields, facts),
  );
}

/** In a function's own statement a name that is no column is one of its parameters. */
function isColumn(type: string, { fields }: Fields, facts: SchemaFacts): boolean {
  if (type !== "ColumnRef") return false;
  const names = namesIn(fields);
  return names.length > 1 || facts.columns.has(names[0]!);
}
