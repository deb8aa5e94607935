import type { Sql } from "#db/database.ts";
import { identifier } from "#db/sql.ts";
import type { PLATFORM_LEDGER, PropertyLedger } from "#runtime/ledgers.ts";

/** One chain of seals: over a ledger of a property, or over the platform's. */
export type Chain =
  | { ledger: PropertyLedger; propertyId: string }
  | { ledger: typeof PLATFORM_LEDGER; propertyId: null };

export interface Head {
  seq: number | null;
  hash: string | null;
}

/** The tables of a chain, and the SQL that selects its own rows and seal. */
export function chainTables(sql: Sql, { ledger, propertyId }: Chain) {
  const isOwn = (alias: string) =>
    propertyId === null ? sql`true` : sql`${identifier(alias)}.property_id = ${propertyId}`;
  return {
    rows: identifier(ledger as string),
    ownRow: isOwn,
    seals: identifier(propertyId === null ? "system_ledger_seals" : "ledger_seals"),
    ownSeal: (alias: string) => sql`${isOwn(alias)} and ${identifier(alias)}.ledger = ${ledger}`,
  };
}

/** The newest seal, noted beside the chain: it shows when the chain was cut short. */
export async function headOf(sql: Sql, { ledger, propertyId }: Chain): Promise<Head> {
  const [head] =
    propertyId === null
      ? await sql<Head[]>`select seq, hash from system_ledger_heads where ledger = ${ledger}`
      : await sql<Head[]>`
          select (ledger_heads -> ${ledger} ->> 'seq')::int as seq, ledger_heads -> ${ledger} ->> 'hash' as hash
          from properties where id = ${propertyId}`;
  return head ?? { seq: null, hash: null };
}

/** Notes the newest seal. */
export async function noteHead(
  sql: Sql,
  { ledger, propertyId }: Chain,
  head: { seq: number; hash: string },
): Promise<void> {
  if (propertyId === null) {
    await sql`
      insert into system_ledger_heads (ledger, seq, hash) values (${ledger}, ${head.seq}, ${head.hash})
      on conflict (ledger) do update set seq = excluded.seq, hash = excluded.hash`;
    return;
  }
  await sql`
    update properties set ledger_heads = ledger_heads || ${{ [ledger]: head }}::jsonb
    where id = ${propertyId}`;
}
