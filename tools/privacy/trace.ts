import type postgres from "postgres";
import type { Sql } from "#db/client.ts";
import { LEDGERS, type LedgerName } from "#runtime/ledgers.ts";
import type { Person } from "./person.ts";

type Fragment = postgres.Fragment;

/** What is asked about: the person, in one property. */
export interface About {
  sql: Sql;
  property: { id: string };
  person: Person;
}

/** One erasure. */
export interface Erasure extends About {
  /** Stands in for the player in all rows that are kept without a name. Random. */
  anonId: string;
  /** What the blanked rows of a ledger name as their reason. */
  erasedBy: string;
}

/**
 * A table that knows persons: which of its rows are one person's, under which key `data_export` shows them, and
 * what `data_deletion` does with them. Every table of the schema stands in TRACES or in IMPERSONAL.
 */
export interface Trace {
  table: string;
  /** The person's rows, as a condition over `t`. */
  rows(about: About): Fragment;
  /** The rows are found by searching text: audit rows about them are not the person's own. */
  searched?: true;
  /** The key in the export; null: it would say nothing that the other rows do not. */
  exported: string | null;
  /** More than the row itself to show: an SQL object over `t`. */
  more?: string;
  erasure: "delete" | Anonymized | ((erasure: Erasure) => Promise<number>);
}

/** Rows that stay, and no longer tell whose they were. Each column of the table is in one of the two. */
export interface Anonymized {
  /** The new value of a column, as SQL over `t`. `$anon` and `$erased_by` are the erasure's. */
  set: Readonly<Record<string, string>>;
  kept: readonly string[];
  /** Why the rest may be kept, where rows are kept because of what they say. */
  basis?: string;
}

/** Columns of every record that say nothing of a person. */
export const BARE = ["property_id", "id", "created_at", "updated_at"] as const;

/** Rows of the table's column `player_id`. */
export const byPlayer = ({ sql, person }: About) => sql`t.player_id = ${person.id}`;

/** Bytes among the person's hashes. */
export function amongHashes({ sql }: About, column: string, hashes: readonly string[]): Fragment {
  return sql`${sql.unsafe(column)} in (select decode(h, 'hex') from unnest(${hashes as string[]}::text[]) as h)`;
}

/** Text, or JSON as text, that names the person. */
export function mentions({ sql, person }: About, text: string): Fragment {
  // ilike would put the text into lower case once for each pattern.
  return sql`lower(${sql.unsafe(text)}) like any (
    array(select lower(p) from unnest(${patternsOf(person)}::text[]) as p))`;
}

/** A name that callers have chosen, such as a key of theirs, with the person's own identifier as a word in it. */
export function namedAfter(about: About, text: string): Fragment {
  const { sql, person } = about;
  const id = person.externalId ?? "";
  // A short one may be a number like any other.
  const word = id.length < 6 ? null : `(^|[^[:alnum:]])${literalPattern(id)}([^[:alnum:]]|$)`;
  return sql`(${mentions(about, text)} or coalesce(${sql.unsafe(text)} ~* ${word}, false))`;
}

/** A text as a regular expression of PostgreSQL's. */
export function literalPattern(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, "\\$&");
}

/** Patterns, for any case, of all by which a text names the person. Never empty. */
export function patternsOf({ id, addresses, hashes, externalId }: Person): string[] {
  const quoted = externalId === null ? null : JSON.stringify(externalId);
  const named =
    quoted === null
      ? []
      : [
          `"player_id":${quoted}`,
          `"player_id": ${quoted}`,
          `player_id ${JSON.stringify(quoted).slice(1, -1)}`,
        ];
  return [id, ...addresses, ...hashes, ...named].map(containing);
}

/** The pattern of ilike for texts that hold this one. */
export function containing(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`;
}

/** Rows of a ledger lose their personal part, and say by which erasure. */
export function blanked(ledger: LedgerName, more: Anonymized): Anonymized {
  const { sealed, personal, written } = LEDGERS[ledger];
  const nothing = Object.fromEntries([...Object.keys(personal), "salt"].map((name) => [name, "null"]));
  return {
    ...more,
    set: { ...nothing, erased_by: "$erased_by", ...more.set },
    kept: [...Object.keys(sealed), ...written, "detail_hash", "record_hash", ...more.kept],
  };
}

/** Takes what names the person out of the texts of records that are the operator's own. */
export function scrubbed(table: string, columns: Readonly<Record<string, "text" | "jsonb">>) {
  return async ({ sql, property, person }: Erasure): Promise<number> => {
    const names = [...person.addresses, ...(person.externalId === null ? [] : [person.externalId])];
    // A short text may be another word of the same letters.
    const telling = names.filter((name) => name.length >= 6).map(literalPattern);
    if (telling.length === 0) return 0;
    const pattern = `(${telling.join("|")})`;
    const patterns = names.filter((name) => name.length >= 6).map(containing);
    const set = Object.entries(columns).map(
      ([name, type]) =>
        sql`${sql(name)} = regexp_replace(${sql(name)}::text, ${pattern}, 'erased', 'gi')::${sql.unsafe(type)}`,
    );
    const found = Object.keys(columns).map((name) => sql`${sql(name)}::text ilike any (${patterns}::text[])`);
    const rows = await sql`
      update ${sql(table)} set ${set.map((one, at) => (at === 0 ? one : sql`, ${one}`))}
      where property_id = ${property.id} and (${found.map((one, at) => (at === 0 ? one : sql` or ${one}`))})`;
    return rows.count;
  };
}
