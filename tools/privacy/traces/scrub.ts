import { identifier, join, raw } from "#db/sql.ts";
import {
  containing,
  everyTrace,
  isTelling,
  isUnmistakable,
  squeezed,
  wordPattern,
  writtenAddress,
} from "./matching-person.ts";
import type { Person } from "./person.ts";
import { SCRUBBED, type Scrubbed, type Texts, VERSIONED } from "./scrubbed-texts.ts";
import type { Erasure, SettingToReview, Trace, Treated } from "./trace.ts";

const GONE = "erased";

/** Patterns for the person's data in texts, and the identifier as the value of a player_id. */
interface Scrub {
  words: RegExp | null;
  id: string | null;
}

/** Texts of records that are not the person's own lose the person's data. */
export const SCRUBBED_TRACES: readonly Trace[] = Object.entries(SCRUBBED).map(([table, texts]) => ({
  table,
  rows: ({ sql }) => sql`false`,
  searched: true,
  exported: null,
  erasure: (erasure) => scrub(erasure, table, texts),
}));

type Row = { id: string } & Record<string, unknown>;
interface Change {
  before: Row;
  after: Row;
}

async function scrub(
  erasure: Erasure,
  table: string,
  { notes = {}, settings = {} }: Scrubbed,
): Promise<Treated> {
  const { sql, property, person } = erasure;
  const columns = { ...notes, ...settings };
  const names = Object.keys(columns);
  const likes = likesOf(person);
  if (likes.length === 0) return { rows: 0 };
  const found = names.map(
    (name) => sql`translate(lower(${identifier(name)}::text), ' ()./+-', '') like any (${likes}::text[])`,
  );
  const rows = await sql<Row[]>`
    select id, ${join(names.map(identifier))} from ${identifier(table)}
    where property_id = ${property.id} and (${join(found, " or ")})
    order by id for no key update`;
  const all = everything(person);
  const certain = unmistakable(person);
  const look: SettingToReview[] = [];
  const changed = rows.flatMap((row) => {
    const next: Row = { id: row.id };
    for (const column of Object.keys(notes)) next[column] = scrubbed(row[column], all);
    for (const column of Object.keys(settings)) {
      next[column] = scrubbed(row[column], certain);
      const isLeft = scrubbed(next[column], all) !== next[column];
      if (!isLeft && next[column] === row[column]) continue;
      look.push({ table, id: row.id, column, text: isLeft ? "kept" : "removed" });
    }
    return names.every((name) => next[name] === row[name]) ? [] : [{ before: row, after: next }];
  });
  if (changed.length > 0) await write(erasure, table, columns, changed);
  return { rows: changed.length, look };
}

async function write(
  erasure: Erasure,
  table: string,
  columns: Texts,
  changed: readonly Change[],
): Promise<void> {
  const { sql, property } = erasure;
  const set = Object.keys(columns).map((name) => `"${name}" = c."${name}"`);
  // A caller who read the record before cannot send it back over this.
  set.push("updated_at = now()", ...(VERSIONED.has(table) ? ["version = t.version + 1"] : []));
  const types = Object.entries(columns).map(([name, type]) => `"${name}" ${type}`);
  await sql`
    update ${identifier(table)} t set ${raw(set.join(", "))}
    from jsonb_to_recordset(${await toldApart(erasure, table, changed)}::jsonb) as c(id uuid, ${raw(types.join(", "))})
    where t.property_id = ${property.id} and t.id = c.id`;
}

/** The rows as they become. New names are told apart: those of records about two erased people may have differed in them. */
async function toldApart(
  { sql, property }: Erasure,
  table: string,
  changed: readonly Change[],
): Promise<Row[]> {
  const renamed = changed.flatMap(({ before, after }) => (after.name === before.name ? [] : [after]));
  if (renamed.length === 0) return changed.map(({ after }) => after);
  const others = await sql<{ name: string }[]>`
    select name from ${identifier(table)}
    where property_id = ${property.id} and name = any(${renamed.map(({ name }) => name as string)}::text[])
      and id <> all(${renamed.map(({ id }) => id)}::uuid[])`;
  const taken = new Set<unknown>(others.map(({ name }) => name));
  return changed.map(({ before, after }) => {
    if (after.name === before.name) return after;
    const name = taken.has(after.name) ? `${after.name} ${after.id.slice(-12)}` : after.name;
    taken.add(name);
    return { ...after, name };
  });
}

/**
 * Patterns for the texts that may contain the person's data, apart from case and the separators of a phone. A short
 * identifier is removed where it is a whole value of JSON alone: the letters are in too many rows.
 */
function likesOf({ addresses, externalId, fullName }: Person): string[] {
  const like = (text: string) => containing(squeezed(text.toLowerCase()));
  const dialed = addresses.map((one) => (one.startsWith("+") ? one.slice(1).slice(-10) : one));
  const id = isTelling(externalId) ? externalId : JSON.stringify(externalId);
  const names = fullName ? [fullName, fullName.toReversed()].map((order) => order.map(like).join("")) : [];
  return [...dialed.map(like), ...names, ...(externalId === null ? [] : [like(id)])];
}

function everything(person: Person): Scrub {
  return { words: anyOf(everyTrace(person)), id: person.externalId };
}

/** Texts that can mean nothing but the person: an address, an identifier of letters and digits, the value of a player_id. */
function unmistakable({ addresses, externalId }: Person): Scrub {
  const id = isUnmistakable(externalId) ? [wordPattern(externalId)] : [];
  return { words: anyOf([...addresses.map(writtenAddress), ...id]), id: externalId };
}

function anyOf(patterns: readonly string[]): RegExp | null {
  return patterns.length === 0 ? null : new RegExp(patterns.join("|"), "gi");
}

/** The value without the person's data in its texts; the same object without a change. Numbers and keys stay. */
function scrubbed(value: unknown, scrub: Scrub, isId = false): unknown {
  if (typeof value === "string") {
    if (isId && value === scrub.id) return GONE;
    return scrub.words ? value.replace(scrub.words, GONE) : value;
  }
  if (Array.isArray(value)) {
    const next = value.map((one) => scrubbed(one, scrub, isId));
    return next.every((one, at) => one === value[at]) ? value : next;
  }
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value);
  const isRule = "field" in value && value.field === "player_id";
  const next = entries.map(([key, one]): [string, unknown] => [
    key,
    scrubbed(one, scrub, key === "player_id" || (isRule && key === "value")),
  ]);
  return next.every(([, one], at) => one === entries[at]![1]) ? value : Object.fromEntries(next);
}
