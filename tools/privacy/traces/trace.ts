import type { Sql } from "#db/database.ts";
import { type Fragment, raw } from "#db/sql.ts";
import { byteaLiteral } from "#db/types.ts";
import { LEDGERS, type LedgerName } from "#runtime/ledgers.ts";
import type { Property } from "#runtime/operation/property.ts";
import type { Person } from "./person.ts";

/** The person and the property of an export or an erasure. */
export interface About {
  sql: Sql;
  property: Pick<Property, "id" | "pepper">;
  person: Person;
}

/** One erasure. */
export interface Erasure extends About {
  /** The random id that replaces the player in all anonymous rows. */
  anonId: string;
  /** The id of the erasure in the blanked rows of a ledger. */
  erasedBy: string;
}

/**
 * A table with personal data: the rows of one person, their key in `data_export`, and their handling in
 * `data_deletion`. Every table of the schema is in TRACES, or in tests/contract/schema/impersonal.ts.
 */
export interface Trace {
  table: string;
  /** The person's rows, as a condition over `t`. */
  rows(about: About): Fragment;
  /** Text search finds the rows: audit rows about them are not the person's own. */
  searched?: true;
  /** Others lock many of the rows in one transaction: all lock them by their ids. */
  byId?: true;
  /** The rows have no id: no audit row is about one of them. */
  bare?: true;
  /** The key in the export; null when the rows add nothing to the others. */
  exported: string | null;
  /** Further data to show, as an SQL object over `t`. */
  more?(about: About): Fragment;
  erasure: "delete" | Anonymized | ((erasure: Erasure) => Promise<Treated>);
}

/** The changes that an erasure made to a table by its own way. */
export interface Treated {
  /** The rows that it removed or changed. */
  rows: number;
  look?: SettingToReview[];
}

/** A setting in which somebody should look at the text that was kept, or at what the setting means without it. */
export interface SettingToReview {
  table: string;
  id: string;
  column: string;
  text: "kept" | "removed";
}

/** Rows that stay without their person. Each column of the table is in `set` or in `kept`. */
export interface Anonymized {
  /** The new value of a column, as SQL over `t` and `clock (moment)`. */
  set: Readonly<Record<string, string | ((erasure: Erasure) => Fragment)>>;
  kept: readonly string[];
  /** The legal basis for keeping rows whose content matters. */
  basis?: string;
}

/** The rows with the player's id in `player_id`. */
export const byPlayer = ({ sql, person }: About) => sql`t.player_id = ${person.id}`;

/** A condition on a column of `t`: it names another, existing player. */
export function ofAnother({ sql, property, person }: About, column: string): Fragment {
  return sql`exists (select from players o where o.property_id = ${property.id} and o.id = ${raw(column)}
    and o.id <> ${person.id} and o.deleted_at is null)`;
}

/** The random id that replaces the player in rows of one erasure. */
export const anonymousId = ({ sql, anonId }: Erasure) => sql`${anonId}::uuid`;

/** A condition on a column of hashes: it is one of these. */
export function amongHashes({ sql }: About, column: string, hashes: readonly string[]): Fragment {
  return sql`${raw(column)} = any(${byteaLiteral(hashes)}::bytea[])`;
}

/** Removes the personal part of a ledger's rows, and notes the erasure. */
export function blanked(ledger: LedgerName, more: Anonymized): Anonymized {
  const { sealed, personal, written } = LEDGERS[ledger];
  const nothing = Object.fromEntries([...Object.keys(personal), "salt"].map((name) => [name, "null"]));
  return {
    ...more,
    set: { ...nothing, erased_by: ({ sql, erasedBy }: Erasure) => sql`${erasedBy}::uuid`, ...more.set },
    kept: [...Object.keys(sealed), ...written, "detail_hash", "record_hash", ...more.kept],
  };
}
