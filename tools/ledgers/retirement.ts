import { createHmac } from "node:crypto";
import { firstIdOf, monthOf } from "#db/partitions/month.ts";
import { type Fragment, sql } from "#db/sql.ts";
import type { AppSecret } from "#runtime/config.ts";
import { canonical } from "#runtime/funnel/audit.ts";
import { sealKey, sealKeyId, type Verifying } from "./seals.ts";

/** The end of a month of a property's audit log: its rows were dropped at the end of their retention. */
export interface Retirement {
  until: string;
  rows: number;
  /** The last seal with a row of the month. */
  seal_seq: number;
  /** Rows of the month that an erasure had blanked. */
  blanked: { erased_by: string; ids: string[] }[];
  /** The rows that the month's recorded erasures had blanked, by ledger. */
  erasures: { erased_by: string; blanked: unknown }[];
}

type Stored = Retirement & { mac: Buffer; key_id: string };

export interface Retired {
  /** Retirements under another APP_SECRET: their codes cannot be checked. */
  otherSecret: number;
  /** Whether the row of this id was dropped with its month. */
  isDropped(id: Fragment): Fragment;
  /** Rows `(erased_by, id)`: those that were blanked and then dropped. */
  blanked: Fragment;
  /** Rows `(erased_by, blanked)`: the erasures whose own record was dropped. */
  erasures: Fragment;
}

/** The closed months of a property's audit log. One with a wrong code counts as none. */
export async function retiredOf(
  { sql: query, config }: Verifying,
  propertyId: string | null,
): Promise<Retired> {
  const stored =
    propertyId === null
      ? []
      : await query<Stored[]>`
          select until, rows, seal_seq, blanked, erasures, mac, key_id from audit_retirements
          where property_id = ${propertyId} order by until`;
  const own = sealKeyId(config);
  const good = stored.filter(
    (one) => one.key_id !== own || retirementMac(config, propertyId!, one).equals(one.mac),
  );
  const months = good.map(({ until }) => monthOf(Date.parse(until)) - 1);
  const blanked = good.flatMap((one) =>
    one.blanked.flatMap(({ erased_by, ids }) => ids.map((id) => ({ erased_by, id }))),
  );
  return {
    otherSecret: good.filter(({ key_id }) => key_id !== own).length,
    isDropped: (id) => sql`exists (
      select from unnest(${months.map(firstIdOf)}::uuid[], ${months.map((month) => firstIdOf(month + 1))}::uuid[])
        as m(first, next) where ${id} >= m.first and ${id} < m.next)`,
    blanked: sql`jsonb_to_recordset(${blanked}::jsonb) as d(erased_by uuid, id uuid)`,
    erasures: sql`jsonb_to_recordset(${good.flatMap((one) => one.erasures)}::jsonb) as d(erased_by uuid, blanked jsonb)`,
  };
}

/** A keyed code over a retirement: write access to the database is not enough to pass a removal off as one. */
export function retirementMac(config: AppSecret, propertyId: string, retirement: Retirement): Buffer {
  const { until, rows, seal_seq, blanked, erasures } = retirement;
  const text = canonical(["retirement", propertyId, Date.parse(until), rows, seal_seq, blanked, erasures]);
  return createHmac("sha256", sealKey(config)).update(text).digest();
}
