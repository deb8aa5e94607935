import { type Fragment, join, raw } from "#db/sql.ts";
import type { Person } from "./person.ts";
import { SCRUBBED } from "./scrubbed-texts.ts";
import type { About } from "./trace.ts";

// PostgreSQL and JavaScript both use these patterns. JSON's escape of a line break and PostgreSQL's escape of a byte
// are no letters of an address.
const ESCAPE = "(?<=\\\\[bfnrt]|\\\\u[0-9a-f]{4}|\\\\[0-7]{3})";
const LETTER = "a-z0-9\\u00c0-\\u024f";
const EMAIL = {
  // joann@x.com and o'ann@x.com are not ann@x.com; 'ann@x.com' in quotes is.
  before: `((?<![${LETTER}_.+-]|[${LETTER}]')|${ESCAPE})`,
  // ann@x.com.au and ann@x.company are other addresses too; a full stop that ends a sentence is no part of it.
  after: `(?![${LETTER}@]|[.-][${LETTER}])`,
};
const WORD = { before: `((?<![${LETTER}_])|${ESCAPE})`, after: `(?![${LETTER}_])` };
const DIGITS = { before: `((?<![0-9])|${ESCAPE})`, after: "(?![0-9])" };

/** Whether the operator's identifier is long enough to differ from an ordinary word. */
export const isTelling = (id: string | null): id is string => id !== null && id.length >= 6;
/** Digits alone may be another number. */
export const isNumber = (id: string): boolean => /^\d+$/.test(id);
/** Digits alone may be another number, and letters alone a word. */
export const isUnmistakable = (id: string | null): id is string =>
  isTelling(id) && /\p{L}/u.test(id) && /\d/.test(id);

/** A condition on text, or JSON as text: it names the person. */
export function mentions({ sql, person }: About, text: string): Fragment {
  const { likes, names } = naming(person);
  return sql`is_named(${raw(text)}, array(select lower(l) from unnest(${likes}::text[]) as l), ${names})`;
}

/** The arguments of `is_named` for the person. The caller must lower-case the patterns of `like`. */
export function naming({ id, addresses, hashes, externalId }: Person): { likes: string[]; names: string } {
  const quoted = externalId === null ? null : JSON.stringify(externalId);
  const identifiers =
    quoted === null
      ? []
      : [
          `"player_id":${quoted}`,
          `"player_id": ${quoted}`,
          `player_id ${JSON.stringify(quoted).slice(1, -1)}`,
        ];
  const plain = [id, ...hashes, ...identifiers];
  return {
    likes: [...plain, ...addresses].map(containing),
    names: [...plain.map(literal), ...addresses.map(addressPattern)].join("|"),
  };
}

/** A condition on callers' own words, such as a note or an idempotency key: the person's own identifier is a word in it. */
export function namedAfter(about: About, text: string): Fragment {
  const { sql, person } = about;
  const id = person.externalId;
  const word = isTelling(id) && !isNumber(id) ? wordPattern(id) : null;
  return sql`(${mentions(about, text)} or coalesce(${raw(text)} ~* ${word}, false))`;
}

/**
 * A condition on a row of the audit log, `t`: a note in its call names the person in any way. A sealed row is blanked as
 * a whole, so what may mean something else counts in notes alone.
 */
export function noted({ sql, person }: About): Fragment {
  const pattern = everyTrace(person).join("|") || null;
  const notes = Object.entries(SCRUBBED).flatMap(([table, { notes: some = {} }]) => {
    const said = Object.keys(some).map(
      (name) => sql`coalesce(t.diff ->> ${name}::text ~* ${pattern}, false)`,
    );
    return said.length > 0 ? [sql`when t.entity = ${table} then ${join(said, " or ")}`] : [];
  });
  return sql`case ${join(notes, " ")} else false end`;
}

/** Patterns for all that tells of the person. Some may mean something else: a full name is two words, a number a prize. */
export function everyTrace({ addresses, externalId, fullName }: Person): string[] {
  const id = isTelling(externalId) ? [wordPattern(externalId)] : [];
  return [...addresses.map(writtenAddress), ...(fullName ? [namePattern(fullName)] : []), ...id];
}

const BLANK = "[\\s\\u00a0]";

/** A full name in the orders in which people write it. */
function namePattern(fullName: [first: string, last: string]): string {
  const [first, last] = fullName.map((name) => name.split(/\s+/).map(literal).join(`${BLANK}+`));
  return word(`(${first}${BLANK}+${last}|${last}(${BLANK}|,)+${first})`);
}

/** An address as people write it. */
export function writtenAddress(address: string): string {
  return address.startsWith("+") ? `\\+?${dialedPattern(address)}` : addressPattern(address);
}

/** An address as a regular expression that ignores the text around it. */
export function addressPattern(address: string): string {
  if (!address.includes("@")) return `${literal(address)}${DIGITS.after}`;
  return `${EMAIL.before}${literal(address)}${EMAIL.after}`;
}

/** A phone in E.164 in people's spellings: with or without its country code, with separators between digits. */
export function dialedPattern(phone: string): string {
  const between = "[ ()./+-]{0,3}";
  const digits = phone.slice(1);
  const [code, rest] = [digits.slice(0, -10), digits.slice(-10)];
  const spaced = [...rest].join(between);
  const prefix = code === "" ? "" : `((00|011)?${[...code].join(between)}${between}|0${between})?`;
  return `${DIGITS.before}${prefix}${spaced}${DIGITS.after}`;
}

/** A text without the separators that people put between a phone's digits. */
export const squeezed = (text: string): string => text.replace(/[ ()./+-]/g, "");

/** An identifier as a whole word of a text. */
export function wordPattern(id: string): string {
  return word(literal(id));
}

function word(pattern: string): string {
  return `${WORD.before}${pattern}${WORD.after}`;
}

/** The ilike pattern for texts that contain this one. */
export function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
