import { firstIdOf, type Month, startOf } from "#db/partitions/month.ts";
import { type Retirement, retirementMac } from "./retirement.ts";
import { sealKeyId, type Verifying } from "./seals.ts";
import { verifySeals } from "./verify.ts";

/** Why a month of the audit log cannot be dropped. */
export const HELD_BACK = {
  unsealed: "it has rows that are not sealed yet",
  flawed: "its seals show a flaw, and dropping it would remove the evidence",
} as const;

const MOST_SEALS = 20;

/**
 * Closes a month of a property's audit log before its rows are dropped: as the system. Answers the number of its rows,
 * or why the month must stay. A month that was closed and not dropped is closed anew: an erasure may have come between.
 */
export async function retire(
  context: Verifying,
  propertyId: string,
  month: Month,
): Promise<number | keyof typeof HELD_BACK> {
  const { sql, config } = context;
  const own = sql`l.property_id = ${propertyId} and l.id >= ${firstIdOf(month)} and l.id < ${firstIdOf(month + 1)}`;
  const [facts] = await sql<{ rows: number; first: string | null; last: string | null }[]>`
    select count(*) as rows, min(l.created_at) as first, max(l.created_at) as last from audit_logs l where ${own}`;
  if (facts!.rows === 0) return 0;
  const seals = await sql<{ first: number | null; last: number | null }[]>`
    select min(seq) as first, min(seq) filter (where to_at >= ${facts!.last}) as last from ledger_seals
    where property_id = ${propertyId} and ledger = 'audit_logs' and to_at >= ${facts!.first}`;
  const { first, last } = seals[0]!;
  if (first === null || last === null) return "unsealed";
  const chain = { ledger: "audit_logs", propertyId } as const;
  for (let from: number | null = first; from !== null && from <= last; ) {
    const seen = await verifySeals(context, chain, { from, most: MOST_SEALS });
    if (seen.first) return "flawed";
    from = seen.next_seal;
  }
  const blanked = await sql<Retirement["blanked"]>`
    select l.erased_by, array_agg(l.id order by l.id) as ids from audit_logs l
    where ${own} and l.erased_by is not null group by l.erased_by`;
  const erasures = await sql<Retirement["erasures"]>`
    select l.entity_id as erased_by, l.diff -> 'blanked' as blanked from audit_logs l
    where ${own} and l.action in ('data_deletion', 'finish_erasure') and l.diff ? 'blanked' order by l.id`;
  const until = new Date(startOf(month + 1)).toISOString();
  const retirement = {
    until,
    rows: facts!.rows,
    seal_seq: last,
    blanked: [...blanked],
    erasures: [...erasures],
  };
  await sql`
    insert into audit_retirements (property_id, until, rows, seal_seq, blanked, erasures, mac, key_id)
    values (${propertyId}, ${until}, ${retirement.rows}, ${last}, ${retirement.blanked}::jsonb,
      ${retirement.erasures}::jsonb, ${retirementMac(config, propertyId, retirement)}, ${sealKeyId(config)})
    on conflict (property_id, until) do update set rows = excluded.rows, seal_seq = excluded.seal_seq,
      blanked = excluded.blanked, erasures = excluded.erasures, mac = excluded.mac, key_id = excluded.key_id,
      updated_at = excluded.updated_at`;
  return facts!.rows;
}
