import type { Sql } from "#db/database.ts";
import { type Fragment, raw } from "#db/sql.ts";
import { byteaLiteral } from "#db/types.ts";
import { LEDGERS, type LedgerName } from "#runtime/ledgers.ts";
import type { Person } from "./person.ts";

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
 * what `data_deletion` does with them. Every table of the schema stands in TRACES, or in tests/contract/schema/impersonal.ts.
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
  more?(about: About): Fragment;
  erasure: "delete" | Anonymized | ((erasure: Erasure) => Promise<number>);
}

/** Rows that stay, and no longer tell whose they were. Each column of the table is in one of the two. */
export interface Anonymized {
  /** The new value of a column, as SQL over `t` and `clock (moment)`. */
  set: Readonly<Record<string, string | ((erasure: Erasure) => Fragment)>>;
  kept: readonly string[];
  /** Why the rest may be kept, where rows are kept because of what they say. */
  basis?: string;
}

/** Rows of the table's column `player_id`. */
export const byPlayer = ({ sql, person }: About) => sql`t.player_id = ${person.id}`;

/** A column of `t` that names another player, who is there. */
export function ofAnother({ sql, property, person }: About, column: string): Fragment {
  return sql`exists (select from players o where o.property_id = ${property.id} and o.id = ${raw(column)}
    and o.id <> ${person.id} and o.deleted_at is null)`;
}

/** The random id that stands for the player in rows of one erasure. */
export const anonymousId = ({ sql, anonId }: Erasure) => sql`${anonId}::uuid`;

/** Bytes among the person's hashes. */
export function amongHashes({ sql }: About, column: string, hashes: readonly string[]): Fragment {
  return sql`${raw(column)} = any(${byteaLiteral(hashes)}::bytea[])`;
}

/** Rows of a ledger lose their personal part, and say by which erasure. */
export function blanked(ledger: LedgerName, more: Anonymized): Anonymized {
  const { sealed, personal, written } = LEDGERS[ledger];
  const nothing = Object.fromEntries([...Object.keys(personal), "salt"].map((name) => [name, "null"]));
  return {
    ...more,
    set: { ...nothing, erased_by: ({ sql, erasedBy }: Erasure) => sql`${erasedBy}::uuid`, ...more.set },
    kept: [...Object.keys(sealed), ...written, "detail_hash", "record_hash", ...more.kept],
  };
}
