import type postgres from "postgres";
import { arrayLiteral } from "./types.ts";

const FRAGMENT = Symbol("fragment");
const DRIVER = Symbol("driver");

/**
 * SQL with its values: a statement, or a piece of one. The tag `sql` nests pieces. The placeholders are numbered when
 * the statement runs.
 */
export interface Fragment {
  readonly [FRAGMENT]: true;
  /** The text around the values: one piece more than there are values. */
  readonly texts: readonly string[];
  readonly values: readonly unknown[];
  /** The text belongs to one request, so no connection keeps it prepared. */
  readonly isAdHoc: boolean;
}

/** Rows, and the number of rows that the statement returned or wrote. */
export type Rows<R extends readonly object[]> = R & { readonly count: number };

/**
 * A statement of a transaction. It runs once, at its first await; inside another statement it is a piece of that one.
 */
export interface Statement<R extends readonly object[]> extends Fragment, Promise<Rows<R>> {}

/** The tag of one transaction: `await sql<Row[]>\`select …\`` runs the statement in it. */
export interface Sql {
  <R extends readonly object[] = postgres.Row[]>(
    texts: TemplateStringsArray,
    ...values: unknown[]
  ): Statement<R>;
  readonly [DRIVER]: postgres.Sql;
}

/** Builds a fragment. A value becomes a parameter; a fragment becomes part of the text. */
export function sql(texts: TemplateStringsArray, ...values: unknown[]): Fragment {
  return composed(texts, values);
}

/** The service's own text, such as an operator or a list of columns. Never a caller's text. */
export function raw(text: string): Fragment {
  return { [FRAGMENT]: true, texts: [text], values: [], isAdHoc: false };
}

/** Words of ours for `in (…)`. Written out, since a partial index serves only a statement that has its very words. */
export function literals(words: readonly string[]): Fragment {
  return raw(words.map((word) => `'${word}'`).join(", "));
}

/** The quoted name of a table or a column. */
export function identifier(name: string): Fragment {
  return raw(quoted(name));
}

/** The same as text, for a piece that is written at once. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A value with its SQL type, where PostgreSQL cannot infer the type. */
export function cast(value: unknown, type: string): Fragment {
  return sql`${value}::${raw(type)}`;
}

/** Fragments, joined by a separator. */
export function join(fragments: readonly Fragment[], separator = ", "): Fragment {
  const gaps = fragments.map((_, index) => (index === 0 ? "" : separator));
  return composed([...gaps, ""], fragments);
}

/** A named part of a statement: `name as (body)`. A materialized one is computed once, by itself. */
export function cte(
  name: string,
  body: Fragment,
  how: "" | "materialized" | "not materialized" = "",
): Fragment {
  return sql`${raw(`${name} as ${how} (`)}${body})`;
}

/** `"a" = $1, "b" = $2`, for `update … set`. */
export function assignments(row: object): Fragment {
  return join(Object.entries(row).map(([name, value]) => sql`${identifier(name)} = ${value}`));
}

/** `("a", "b") values ($1, $2)`, for `insert into …`. */
export function insertedValues(row: object): Fragment {
  const names = join(Object.keys(row).map(identifier));
  return sql`(${names}) values (${join(Object.values(row).map((value) => sql`${value}`))})`;
}

const MOST_VALUES = 4;

/** Whether an insert has its rows as `values`. More rows cost less as one parameter, but on a cluster 9 ms in all. */
export function asValues(rows: readonly object[]): boolean {
  return rows.length > 0 && rows.length <= MOST_VALUES;
}

/** `("a", "b") values …`, or a select of many rows from one parameter. A cluster sends values to their shard at once. */
export function insertedRows(types: Readonly<Record<string, string>>, rows: readonly object[]): Fragment {
  const names = join(Object.keys(types).map(identifier));
  if (!asValues(rows)) return sql`(${names}) select ${names} from ${recordset(types, rows)}`;
  return sql`(${names}) values ${join(rows.map((row) => sql`(${join(castValues(types, row))})`))}`;
}

/** A row's values with their types, in the order of the types. */
export function castValues(types: Readonly<Record<string, string>>, row: object): Fragment[] {
  const values = row as Record<string, unknown>;
  return Object.entries(types).map(([name, type]) => cast(values[name] ?? null, type));
}

/** Rows as a relation, by one parameter. */
export function recordset(types: Readonly<Record<string, string>>, rows: readonly object[]): Fragment {
  const columns = Object.entries(types).map(([name, type]) => sql`${identifier(name)} ${raw(type)}`);
  return sql`jsonb_to_recordset(${rows}::jsonb) as r(${join(columns)})`;
}

/** The same fragment as the text of one request: no connection keeps it prepared. */
export function adHoc({ texts, values }: Fragment): Fragment {
  return { [FRAGMENT]: true, texts, values, isAdHoc: true };
}

export function isFragment(value: unknown): value is Fragment {
  return typeof value === "object" && value !== null && FRAGMENT in value;
}

/**
 * The statement as PostgreSQL takes it, with placeholders numbered from 1. In a text of one request, equal values
 * with the same cast share a placeholder. Rules repeat their property and keys, and a statement has at most 65,535
 * parameters.
 */
export function numbered({ texts, values, isAdHoc }: Fragment): { text: string; values: unknown[] } {
  const given: unknown[] = [];
  const known = new Map<string, number>();
  let text = texts[0]!;
  for (const [index, value] of values.entries()) {
    const next = texts[index + 1]!;
    const type = isAdHoc ? CAST.exec(next)?.[0] : undefined;
    const key = type === undefined ? "" : `${type} ${typeof value} ${JSON.stringify(value)}`;
    const position = known.get(key) ?? given.push(value);
    if (type !== undefined) known.set(key, position);
    text += `$${position}${next}`;
  }
  return { text, values: given };
}

const CAST = /^::[a-z ]+(\[\])?/;

/** The statement with its values as literals, for COPY, which takes no parameters. Each value needs a cast behind it. */
export function inlined({ texts, values }: Fragment): string {
  return texts.map((text, index) => (index === 0 ? text : literal(values[index - 1]) + text)).join("");
}

/** Makes the tag of a connection's transaction. */
export function tagOf(driver: postgres.Sql): Sql {
  const tag = <R extends readonly object[]>(
    texts: TemplateStringsArray,
    ...values: unknown[]
  ): Statement<R> => {
    const fragment = composed(texts, values);
    let running: Promise<Rows<R>> | undefined;
    const start = () => {
      running ??= query<R>(driver, fragment) as Promise<Rows<R>>;
      return running;
    };
    return {
      ...fragment,
      then: (onDone, onFailed) => start().then(onDone, onFailed),
      catch: (onFailed) => start().catch(onFailed),
      finally: (onEnd) => start().finally(onEnd),
      [Symbol.toStringTag]: "Statement",
    };
  };
  return Object.assign(tag, { [DRIVER]: driver });
}

/** The driver below a tag, for functions that only the driver has. */
export function driverOf(tag: Sql): postgres.Sql {
  return tag[DRIVER];
}

/** A connection keeps every statement that it has prepared, so the number of texts is bounded. */
const MOST_PREPARED = 1_000;
const ownTexts = new Set<string>();

/**
 * A statement on a connection of the driver; it runs when it is awaited. `prepared` holds the texts that are prepared
 * so far.
 */
export function query<R extends readonly object[]>(
  driver: postgres.Sql,
  fragment: Fragment,
  prepared: Set<string> = ownTexts,
) {
  const { text, values } = numbered(fragment);
  const prepare = !fragment.isAdHoc && (prepared.has(text) || prepared.size < MOST_PREPARED);
  if (prepare) prepared.add(text);
  // The driver knows `simple`, and its types do not.
  const options = { prepare, simple: false };
  return driver.unsafe<R & object[]>(text, values as never[], options);
}

function composed(texts: readonly string[], values: readonly unknown[]): Fragment {
  const outTexts = [texts[0]!];
  const outValues: unknown[] = [];
  let isAdHoc = false;
  for (const [index, value] of values.entries()) {
    const next = texts[index + 1]!;
    // The driver would refuse it only while it sends, and the commit behind it would stand without the statement.
    if (value === undefined) throw new TypeError("a value of a statement is undefined");
    if (Array.isArray(value) && value.some(isFragment))
      throw new TypeError("fragments in a list are joined by join");
    if (isFragment(value)) {
      isAdHoc ||= value.isAdHoc;
      outTexts[outTexts.length - 1] += value.texts[0]!;
      outTexts.push(...value.texts.slice(1));
      outValues.push(...value.values);
      outTexts[outTexts.length - 1] += next;
    } else {
      outValues.push(value);
      outTexts.push(next);
    }
  }
  return { [FRAGMENT]: true, texts: outTexts, values: outValues, isAdHoc };
}

function literal(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined || (typeof value === "object" && !Array.isArray(value))) {
    throw new TypeError("only texts, numbers, booleans and lists of them can be literals");
  }
  const text = Array.isArray(value) ? arrayLiteral(value) : String(value);
  return `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
