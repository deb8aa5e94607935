import type postgres from "postgres";
import { placesOf } from "#db/distribute.ts";
import { columnsIn } from "../schema.ts";

/** Functions that give the same for the same arguments always, within a statement, or never. */
export type Volatility = "immutable" | "stable" | "volatile";

/** The rules' view of the database. */
export interface SchemaFacts {
  /** Tables that are distributed by property_id. */
  tenant: ReadonlySet<string>;
  /** Tables on one node alone. Temporary tables are local too, and none of `tables`. */
  local: ReadonlySet<string>;
  tables: ReadonlySet<string>;
  /** A column's types in all of its tables. */
  columns: ReadonlyMap<string, ReadonlySet<string>>;
  /** By name, and by name/arguments: the least constant of the overloads. */
  volatility: ReadonlyMap<string, Volatility>;
  /** Functions that read tables which are not distributed. */
  localFunctions: ReadonlySet<string>;
}

export async function schemaFacts(admin: postgres.Sql): Promise<SchemaFacts> {
  const all = await columnsIn(admin);
  const tables = new Set(all.map(({ table }) => table));
  const { distributed, copied } = await placesOf(admin);
  const tenant = new Set(distributed);
  const columns = new Map<string, Set<string>>();
  for (const { column, type } of all) columns.set(column, (columns.get(column) ?? new Set()).add(type));
  const functions = await admin<{ name: string; volatility: Volatility }[]>`
    select p.proname || shown as name,
      case max(case p.provolatile when 'i' then 0 when 's' then 1 else 2 end)
        when 0 then 'immutable' when 1 then 'stable' else 'volatile' end as volatility
    from pg_proc p cross join lateral (values (''), ('/' || p.pronargs)) s (shown)
    where p.prokind in ('f', 'w') group by 1`;
  const own = await admin<{ name: string; source: string }[]>`
    select proname as name, prosrc as source from pg_proc where pronamespace = 'public'::regnamespace`;
  const elsewhere = [...tables].filter((table) => !tenant.has(table));
  const readsElsewhere = new RegExp(`\\b(from|join|into|update)\\s+(${elsewhere.join("|")})\\b`);
  return {
    tenant,
    tables,
    local: new Set(elsewhere.filter((table) => !copied.includes(table))),
    columns,
    volatility: new Map(functions.map(({ name, volatility }) => [name, volatility])),
    localFunctions: new Set(own.filter(({ source }) => readsElsewhere.test(source)).map(({ name }) => name)),
  };
}
