import { identifier, join, raw } from "#db/sql.ts";
import { addressPattern, containing, isNumber, isTelling, wordPattern } from "./matching-person.ts";
import type { Person } from "./person.ts";
import type { Erasure } from "./trace.ts";

const GONE = "erased";

/** Patterns for the person's data: words in any text, and the identifier as the value of a player_id. */
interface Scrub {
  words: RegExp | null;
  id: string | null;
}

/** Removes the person's data from the texts of the operator's own records. */
export function scrubbed(table: string, columns: Readonly<Record<string, "text" | "jsonb">>) {
  const names = Object.keys(columns);
  return async ({ sql, property, person }: Erasure): Promise<number> => {
    const scrub = scrubOf(person);
    const terms = [...person.addresses, ...(person.externalId === null ? [] : [person.externalId])];
    if (terms.length === 0) return 0;
    const likes = terms.map(containing);
    const found = names.map((name) => sql`${identifier(name)}::text ilike any (${likes}::text[])`);
    const rows = await sql<({ id: string } & Record<string, unknown>)[]>`
      select id, ${join(names.map(identifier))} from ${identifier(table)}
      where property_id = ${property.id} and (${join(found, " or ")})
      order by id for no key update`;
    const changed = rows.flatMap((row) => {
      const next = Object.fromEntries(names.map((name) => [name, scrubValue(row[name], scrub)]));
      return names.every((name) => next[name] === row[name]) ? [] : [{ id: row.id, ...next }];
    });
    if (changed.length === 0) return 0;
    const types = Object.entries(columns).map(([name, type]) => `"${name}" ${type}`);
    const set = names.map((name) => `"${name}" = c."${name}"`);
    await sql`
      update ${identifier(table)} t set ${raw(set.join(", "))}
      from jsonb_to_recordset(${changed}::jsonb) as c(id uuid, ${raw(types.join(", "))})
      where t.property_id = ${property.id} and t.id = c.id`;
    return changed.length;
  };
}

function scrubOf({ addresses, externalId }: Person): Scrub {
  const words = addresses.map(addressPattern);
  // In another rule, a number may mean something else.
  if (isTelling(externalId) && !isNumber(externalId)) words.push(wordPattern(externalId));
  return { words: words.length === 0 ? null : new RegExp(words.join("|"), "gi"), id: externalId };
}

/** The value without the person's data in its texts; the same object without a change. Numbers and keys stay. */
function scrubValue(value: unknown, scrub: Scrub, isId = false): unknown {
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
