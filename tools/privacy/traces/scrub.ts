import { identifier, join, raw } from "#db/sql.ts";
import {
  addressPattern,
  containing,
  dialedPattern,
  isNumber,
  isTelling,
  squeezed,
  wordPattern,
} from "./matching-person.ts";
import { isNamesake, type Person } from "./person.ts";
import { SCRUBBED, type Texts } from "./scrubbed-texts.ts";
import type { Erasure, Trace } from "./trace.ts";

const GONE = "erased";

/** Patterns for the person's data in texts, and the identifier as the value of a player_id. */
interface Scrub {
  /** In a rule and in a record's name, a number may mean something else than the identifier. */
  rules: RegExp | null;
  texts: RegExp | null;
  id: string | null;
}

/** Texts of records that are not the person's own lose the person's data. */
export const SCRUBBED_TRACES: readonly Trace[] = Object.entries(SCRUBBED).map(([table, columns]) => ({
  table,
  rows: ({ sql }) => sql`false`,
  searched: true,
  exported: null,
  erasure: (erasure) => scrub(erasure, table, columns),
}));

type Row = { id: string } & Record<string, unknown>;

async function scrub(erasure: Erasure, table: string, columns: Texts): Promise<number> {
  const { sql, property, person } = erasure;
  const names = Object.keys(columns);
  const terms = termsOf(person);
  if (terms.length === 0) return 0;
  const likes = terms.map((term) => containing(squeezed(term.toLowerCase())));
  const found = names.map(
    (name) => sql`translate(lower(${identifier(name)}::text), ' ()./+-', '') like any (${likes}::text[])`,
  );
  const rows = await sql<Row[]>`
    select id, ${join(names.map(identifier))} from ${identifier(table)}
    where property_id = ${property.id} and (${join(found, " or ")})
    order by id for no key update`;
  const isNamed = rows.some((row) => mentions(row, person.names)) && !(await isNamesake(erasure, person));
  const patterns = scrubOf({ ...person, names: isNamed ? person.names : [] });
  const changed = rows.flatMap((row) => {
    const next = Object.fromEntries(names.map((name) => [name, scrubColumn(row, name, columns, patterns)]));
    return names.every((name) => next[name] === row[name]) ? [] : [{ id: row.id, ...next }];
  });
  if (changed.length === 0) return 0;
  const set = names.map((name) => `"${name}" = c."${name}"`);
  const types = Object.entries(columns).map(([name, type]) => `"${name}" ${type}`);
  await sql`
    update ${identifier(table)} t set ${raw(set.join(", "))}
    from jsonb_to_recordset(${await toldApart(erasure, table, changed)}::jsonb) as c(id uuid, ${raw(types.join(", "))})
    where t.property_id = ${property.id} and t.id = c.id`;
  return changed.length;
}

function mentions(row: Row, names: readonly string[]): boolean {
  const text = JSON.stringify(row).toLowerCase();
  return names.some((name) => text.includes(name.toLowerCase()));
}

/** Names are unique, and those of records about two erased people may have differed in the person alone. */
async function toldApart({ sql, property }: Erasure, table: string, rows: readonly Row[]): Promise<Row[]> {
  if (!rows.some(({ name }) => typeof name === "string")) return [...rows];
  const others = await sql<{ name: string }[]>`
    select name from ${identifier(table)}
    where property_id = ${property.id} and name = any(${rows.map(({ name }) => name as string)}::text[])
      and id <> all(${rows.map(({ id }) => id)}::uuid[])`;
  const taken = new Set<unknown>(others.map(({ name }) => name));
  return rows.map((row) => {
    const name = taken.has(row.name) ? `${row.name} ${row.id.slice(-12)}` : row.name;
    taken.add(name);
    return { ...row, name };
  });
}

/**
 * Texts that contain the person's data contain one of these, apart from case and the separators of a phone. A short
 * identifier is removed where it is a whole value of JSON alone: the letters are in too many rows.
 */
function termsOf({ addresses, names, externalId }: Person): string[] {
  const dialed = addresses.map((one) => (one.startsWith("+") ? one.slice(1).slice(-10) : one));
  const id = isTelling(externalId) ? externalId : JSON.stringify(externalId);
  return [...dialed, ...names, ...(externalId === null ? [] : [id])];
}

function scrubOf({ addresses, names, externalId }: Person): Scrub {
  const words = [
    ...addresses.map((one) => (one.startsWith("+") ? `\\+?${dialedPattern(one)}` : addressPattern(one))),
    ...names.map(wordPattern),
  ];
  const id = isTelling(externalId) ? [wordPattern(externalId)] : [];
  const isWord = externalId !== null && !isNumber(externalId);
  return {
    rules: anyOf([...words, ...(isWord ? id : [])]),
    texts: anyOf([...words, ...id]),
    id: externalId,
  };
}

function anyOf(patterns: readonly string[]): RegExp | null {
  return patterns.length === 0 ? null : new RegExp(patterns.join("|"), "gi");
}

function scrubColumn(row: Row, name: string, columns: Texts, { rules, texts, id }: Scrub): unknown {
  const words = columns[name] === "jsonb" || name === "name" ? rules : texts;
  return scrubValue(row[name], { words, id });
}

/** The value without the person's data in its texts; the same object without a change. Numbers and keys stay. */
function scrubValue(
  value: unknown,
  scrub: { words: RegExp | null; id: string | null },
  isId = false,
): unknown {
  if (typeof value === "string") {
    if (isId && value === scrub.id) return GONE;
    return scrub.words ? value.replace(scrub.words, GONE) : value;
  }
  if (Array.isArray(value)) {
    const next = value.map((one) => scrubValue(one, scrub, isId));
    return next.every((one, at) => one === value[at]) ? value : next;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value);
  const isRule = "field" in value && value.field === "player_id";
  const next = entries.map(([key, one]): [string, unknown] => [
    key,
    scrubValue(one, scrub, key === "player_id" || (isRule && key === "value")),
  ]);
  return next.every(([, one], at) => one === entries[at]![1]) ? value : Object.fromEntries(next);
}
