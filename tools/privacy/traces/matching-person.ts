import { type Fragment, raw } from "#db/sql.ts";
import type { Person } from "./person.ts";
import type { About } from "./trace.ts";

// These are read by PostgreSQL and by JavaScript alike. What JSON writes for a line break, and PostgreSQL for a byte, is
// no letter of an address.
const ESCAPE = "(?<=\\\\[bfnrt]|\\\\u[0-9a-f]{4}|\\\\[0-7]{3})";
const LETTER = "a-z0-9\\u00c0-\\u024f";
const EMAIL = {
  // joann@x.com and o'ann@x.com are others than ann@x.com; 'ann@x.com' in quotes is not.
  before: `((?<![${LETTER}_.+-]|[${LETTER}]')|${ESCAPE})`,
  // ann@x.com.au and ann@x.company too; the full stop after a sentence is not.
  after: `(?![${LETTER}@]|[.-][${LETTER}])`,
};
const WORD = { before: `((?<![${LETTER}_])|${ESCAPE})`, after: `(?![${LETTER}_])` };
const DIGITS = { before: `((?<![0-9])|${ESCAPE})`, after: "(?![0-9])" };

/** Whether the operator's identifier can be told from another word of the same letters. */
export const isTelling = (id: string | null): id is string => id !== null && id.length >= 6;
/** Digits alone may be any other number. */
export const isNumber = (id: string): boolean => /^\d+$/.test(id);

/** Text, or JSON as text, that names the person. */
export function mentions({ sql, person }: About, text: string): Fragment {
  const { likes, names } = naming(person);
  return sql`is_named(${raw(text)}, array(select lower(l) from unnest(${likes}::text[]) as l), ${names})`;
}

/** What `is_named` takes to find the person. The patterns of `like` are yet to be put in lower case. */
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

/** A name that callers have chosen, such as a key of theirs, with the person's own identifier as a word in it. */
export function namedAfter(about: About, text: string): Fragment {
  const { sql, person } = about;
  const id = person.externalId;
  const word = isTelling(id) && !isNumber(id) ? wordPattern(id) : null;
  return sql`(${mentions(about, text)} or coalesce(${raw(text)} ~* ${word}, false))`;
}

/** An address as a regular expression, whatever stands around it. */
export function addressPattern(address: string): string {
  if (!address.includes("@")) return `${literal(address)}${DIGITS.after}`;
  return `${EMAIL.before}${literal(address)}${EMAIL.after}`;
}

/** A phone in E.164 as people write it: with or without its country code, and with what they put between digits. */
export function dialedPattern(phone: string): string {
  const between = "[ ()./+-]{0,3}";
  const digits = phone.slice(1);
  const [code, rest] = [digits.slice(0, -10), digits.slice(-10)];
  const spaced = [...rest].join(between);
  const prefix = code === "" ? "" : `((00|011)?${[...code].join(between)}${between}|0${between})?`;
  return `${DIGITS.before}${prefix}${spaced}${DIGITS.after}`;
}

/** An identifier that tells, as a word of a text. */
export function wordPattern(id: string): string {
  return `${WORD.before}${literal(id)}${WORD.after}`;
}

/** The pattern of ilike for texts that hold this one. */
export function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
