import type { SchemaFacts, Volatility } from "./schema-facts.ts";
import { type Fields, type Found, fieldsOf, listOf, namesIn, nodesIn } from "./tree.ts";

const TIMES = ["timestamptz", "timetz"];
const PRINTED = ["date", "timestamp", "time", "text", "varchar"];
const TIMESTAMPTZ = "timestamp with time zone";

/** How constant a node is by itself, without the nodes inside it. */
export function volatilityOf({ type, fields }: Found, facts: SchemaFacts): Volatility {
  if (type === "SQLValueFunction") return "stable";
  if (type === "FuncCall") return ofFunction(fields, facts);
  if (type === "A_Expr" && ["+", "-"].includes(namesIn(fields.name).join())) {
    const sides = [fields.lexpr, fields.rexpr];
    const isMoved =
      sides.some((side) => isInterval(side, facts)) && sides.some((side) => isTime(side, facts));
    // A column of the statement's own is a time where an interval that is made there moves it.
    const isOwnMoved = sides.some(isMade) && sides.some((side) => isOwnColumn(side, facts));
    return isMoved || isOwnMoved ? "stable" : "immutable";
  }
  if (type === "TypeCast") return ofCast(fields, facts);
  return "immutable";
}

export function isMutable(found: Found, facts: SchemaFacts): boolean {
  return volatilityOf(found, facts) !== "immutable";
}

/** Whether a column stands anywhere in it. */
export function hasColumn(value: unknown, facts: SchemaFacts): boolean {
  return columnsIn(value).some((name) => facts.columns.has(name));
}

/** The name of the node in a refusal. */
export function nameOf({ type, fields }: Found): string {
  if (type === "FuncCall") return `${namesIn(fields.funcname).at(-1)}()`;
  if (type === "TypeCast") return `a cast to ${namesIn(fieldsOf(fields.typeName).names).at(-1)}`;
  return type === "A_Expr" ? "a time plus or minus an interval" : "the current time";
}

function ofFunction({ funcname, args }: Fields, facts: SchemaFacts): Volatility {
  const name = namesIn(funcname).at(-1)!;
  if (isAtZone({ funcname, args })) return "immutable";
  const known = facts.volatility.get(`${name}/${listOf(args).length}`) ?? facts.volatility.get(name);
  return known ?? "immutable";
}

/** `at time zone`. Only for a time of day with a zone is it stable, and the schema has none. */
function isAtZone({ funcname, args }: Fields): boolean {
  return namesIn(funcname).at(-1) === "timezone" && listOf(args).length === 2;
}

/** PostgreSQL works the cast of a parameter or a constant out before the statement is planned. */
function ofCast({ arg, typeName }: Fields, facts: SchemaFacts): Volatility {
  if (!hasColumn(arg, facts)) return "immutable";
  const target = namesIn(fieldsOf(typeName).names).at(-1)!;
  const isStable = isTime(arg, facts) ? PRINTED.includes(target) : TIMES.includes(target);
  return isStable ? "stable" : "immutable";
}

function isInterval(value: unknown, facts: SchemaFacts): boolean {
  return nodesIn(value).some(({ type, fields }) => {
    if (type === "TypeCast" || type === "FuncCall") return isMadeBy({ type, fields });
    if (type === "A_Expr") return namesIn(fields.name).join() === "-" && isTime(fields.rexpr, facts);
    return type === "ColumnRef" && isColumnOf(fields, "interval", facts);
  });
}

/** An interval by its cast or its function. */
function isMade(value: unknown): boolean {
  return nodesIn(value).some(isMadeBy);
}

function isMadeBy({ type, fields }: Found): boolean {
  if (type === "TypeCast") return namesIn(fieldsOf(fields.typeName).names).at(-1) === "interval";
  return type === "FuncCall" && namesIn(fields.funcname).at(-1) === "make_interval";
}

function isOwnColumn(value: unknown, facts: SchemaFacts): boolean {
  return columnsIn(value).some((name) => !facts.columns.has(name));
}

/** `at time zone` makes a time without a zone of a time with one, and the other way round. */
function isTime(value: unknown, facts: SchemaFacts): boolean {
  const isOpen = ({ type, fields }: Found) => type !== "FuncCall" || !isAtZone(fields);
  return nodesIn(value, isOpen).some(({ type, fields }) => {
    if (type === "FuncCall" && isAtZone(fields)) return !isTime(listOf(fields.args)[1], facts);
    if (type === "SQLValueFunction") return true;
    if (type === "TypeCast") return TIMES.includes(namesIn(fieldsOf(fields.typeName).names).at(-1)!);
    if (type === "FuncCall") return /^(now|.*_timestamp)$/.test(namesIn(fields.funcname).at(-1)!);
    return type === "ColumnRef" && isColumnOf(fields, TIMESTAMPTZ, facts);
  });
}

function isColumnOf({ fields }: Fields, type: string, facts: SchemaFacts): boolean {
  return facts.columns.get(namesIn(fields).at(-1)!)?.has(type) ?? false;
}

function columnsIn(value: unknown): string[] {
  return nodesIn(value)
    .filter(({ type }) => type === "ColumnRef")
    .map(({ fields }) => namesIn(fields.fields).at(-1)!);
}
