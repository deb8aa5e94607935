import { PROPERTY_LEDGERS } from "#runtime/ledgers.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { TRACES } from "#tools/privacy/traces/all.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { capWords, hoursWords } from "./words.ts";

/** A row of the property that a control goes by. */
export interface ControlRow {
  table: string;
  /** Null: the row is a setting of the property, a count, or built in. */
  id: string | null;
  words: string;
  /** The law or the person behind the row, as the row names it. */
  source: string | null;
}

export type RowsOf = (tenant: Tenant) => Promise<ControlRow[]>;

const setting = (words: string): ControlRow => ({ table: "properties", id: null, words, source: null });

/** Settings of the property. */
export const settingsBy =
  (words: (property: Property) => readonly string[]): RowsOf =>
  async ({ property }) =>
    words(property).map(setting);

export const quietHours: RowsOf = async ({ sql, property }) => {
  const rows = await sql<(Parameters<typeof hoursWords>[0] & Named)[]>`
    select id, source_note, country, state, channel, days, open_local, close_local, action from quiet_hours_rules
    where property_id = ${property.id} order by country nulls first, state nulls first, open_local, id`;
  return rows.map((row) => rowOf("quiet_hours_rules", row, hoursWords(row)));
};

export const frequencyCaps: RowsOf = async ({ sql, property }) => {
  const rows = await sql<(Parameters<typeof capWords>[0] & Named)[]>`
    select id, source_note, channel, tag, country, state, max_sends, window_count, window_unit, is_active
    from frequency_rules where property_id = ${property.id} order by is_active desc, id`;
  return rows.map((row) => rowOf("frequency_rules", row, capWords(row)));
};

export const gameLaws: RowsOf = async ({ sql, property }) => {
  const rows = await sql<
    (Named & { kind: string; country: string | null; state: string | null; amount: number | null })[]
  >`
    select id, source_note, kind, country, state, amount from game_laws
    where property_id = ${property.id} and is_active order by kind, country nulls first, state nulls first, id`;
  return rows.map((row) => {
    const place = row.country ? `${row.country}${row.state ? `-${row.state}` : ""}` : "everywhere";
    const amount = row.amount === null ? "" : `, from ${row.amount} dollars`;
    return rowOf("game_laws", row, `${row.kind.replaceAll("_", " ")}: ${place}${amount}.`);
  });
};

export const keywords: RowsOf = async (tenant) => {
  const known = await keywordsOf(tenant);
  const byAction = Map.groupBy(known, ({ action }) => action);
  return [...byAction].map(([action, found]) => ({
    table: "sms_keywords",
    id: null,
    words: `${action}: ${found.map(({ text }) => text).join(", ")}.`,
    source: null,
  }));
};

/** The entries of a list that are in force, by a column, with their number. */
export const countRows =
  (table: "consent_records" | "dnc_entries" | "suppressions" | "self_exclusions"): RowsOf =>
  async ({ sql, property }) => {
    const rows = await COUNTS[table](sql, property.id);
    const shown = rows.map(({ name, count }) => ({
      table,
      id: null,
      words: `${name}: ${count}.`,
      source: null,
    }));
    return shown.length > 0 ? shown : [{ table, id: null, words: "Nobody yet.", source: null }];
  };

type Counting = (sql: Tenant["sql"], id: string) => Promise<{ name: string; count: number }[]>;

const COUNTS: Record<Parameters<typeof countRows>[0], Counting> = {
  consent_records: (sql, id) => sql`
    select channel || ' ' || action as name, count(*)::int as count from consent_records
    where property_id = ${id} group by channel, action order by channel, action`,
  dnc_entries: (sql, id) => sql`
    select 'entries in force' as name, count(*)::int as count from dnc_entries
    where property_id = ${id} and (expires_at is null or expires_at > now())`,
  suppressions: (sql, id) => sql`
    select reason as name, count(*)::int as count from suppressions
    where property_id = ${id} and lifted_at is null and (expires_at is null or expires_at > now())
    group by reason order by reason`,
  self_exclusions: (sql, id) => sql`
    select coalesce(jurisdiction, program, 'without a jurisdiction') as name, count(*)::int as count
    from self_exclusions
    where property_id = ${id} and (ends_at is null or ends_at > now())
    group by coalesce(jurisdiction, program, 'without a jurisdiction') order by 1`,
};

export const ledgerSeals: RowsOf = async ({ sql, property }) => {
  const rows = await sql<{ ledger: string; seals: number; newest: string; hash: string }[]>`
    select s.ledger, s.seq as seals, to_json(s.to_at) #>> '{}' as newest, encode(s.seal_hash, 'hex') as hash
    from unnest(${PROPERTY_LEDGERS}::text[]) as l cross join lateral (
      select * from ledger_seals
      where property_id = ${property.id} and ledger = l order by seq desc limit 1) s
    order by s.ledger`;
  const sentences = rows.map(
    ({ ledger, seals, newest, hash }) => `${ledger}: ${seals} seals, the newest up to ${newest}: ${hash}.`,
  );
  const shown =
    sentences.length > 0 ? sentences : ["No seal yet: the first rows are sealed within the hour."];
  return shown.map((words) => ({ table: "ledger_seals", id: null, words, source: null }));
};

/** The records that stay of an erased person, by the registry that the erasure uses. */
export const kept: RowsOf = async () =>
  TRACES.flatMap(({ table, erasure }) =>
    typeof erasure === "object" && erasure.basis
      ? [{ table, id: null, words: `${table}: stays without the person.`, source: erasure.basis }]
      : [],
  );

export const deadlines: RowsOf = async ({ sql, property }) => {
  const [row] = await sql<{ deadlines: Record<string, string> }[]>`
    select privacy_deadlines as deadlines from properties where id = ${property.id}`;
  return Object.entries(row!.deadlines).map(([law, within]) => setting(`${law}: answered within ${within}.`));
};

interface Named {
  id: string;
  source_note: string | null;
}

function rowOf(table: string, { id, source_note }: Named, words: string): ControlRow {
  return { table, id, words, source: source_note };
}
