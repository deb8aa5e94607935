import type { Sql } from "./client.ts";

/**
 * A piece of a statement, `name as (…)`. Its values have names, such as `$audit`, and a name means the same in all
 * pieces of one statement. The text is our own, and the same for all values, so that it is compiled once.
 */
export interface Part {
  text: string;
  values: Readonly<Record<string, unknown>>;
}

interface Compiled {
  text: string;
  names: string[];
}

/** A connection keeps every statement that it has prepared, so the texts must not grow without end. */
const MOST_COMPILED = 1_000;
const compiled = new Map<string, Compiled>();
const NAME = /\$([a-z][a-z0-9_]*)/g;

/** One statement of several parts, and its result: a round trip and a plan instead of many. */
export function atOnce<Row extends object>(sql: Sql, parts: readonly Part[], result = "1") {
  const text = `with ${parts.map((part) => part.text).join(", ")} select ${result}`;
  return statement<Row>(sql, { text, values: Object.assign({}, ...parts.map((part) => part.values)) });
}

/** A statement whose values have names. Prepared on the connection that it runs on. */
export function statement<Row extends object>(sql: Sql, { text, values }: Part) {
  let known = compiled.get(text);
  const prepare = known !== undefined || compiled.size < MOST_COMPILED;
  if (!known) {
    known = compile(text);
    if (prepare) compiled.set(text, known);
  }
  const given = known.names.map((name) => values[name] as never);
  return sql.unsafe<Row[]>(known.text, given, { prepare });
}

function compile(text: string): Compiled {
  const names: string[] = [];
  const numbered = text.replace(NAME, (_, name: string) => {
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: numbered, names };
}
