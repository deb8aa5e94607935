import type { Tenant } from "#runtime/operation/context.ts";

export const LAW_KINDS = ["free_entry", "registration", "tax_form"] as const;
export type LawKind = (typeof LAW_KINDS)[number];

/** A row of the law that is in force. */
export interface Law {
  kind: LawKind;
  country: string | null;
  state: string | null;
  amount: number | null;
  source_note: string | null;
}

/** The rows in force today by the property's clock: of each kind and place the latest. */
export async function lawsInForce({ sql, property }: Tenant, kinds: readonly LawKind[]): Promise<Law[]> {
  return sql<Law[]>`
    select distinct on (kind, country, state) kind, country, state, amount, source_note from game_laws
    where property_id = ${property.id} and is_active and kind = any(${kinds}::text[])
      and (effective_from is null or effective_from <= (now() at time zone ${property.timezone})::date)
    order by kind, country, state, effective_from desc nulls last, id desc`;
}

/** The lowest amount a calendar year from which a claim of a player in this country waits for a form; null for none. */
export async function reportingAmount(tenant: Tenant, country: string): Promise<number | null> {
  const laws = await lawsInForce(tenant, ["tax_form"]);
  const amounts = laws.flatMap((law) =>
    (law.country === null || law.country === country) && law.amount !== null ? [law.amount] : [],
  );
  return amounts.length > 0 ? Math.min(...amounts) : null;
}
