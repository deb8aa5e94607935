import type postgres from "postgres";

export interface TableFacts {
  name: string;
  /** Those that a row is written with: generated ones are not among them. */
  columns: string[];
  /** The tables that it refers to. */
  targets: string[];
  /** A tenant's: row-level security is forced. */
  is_walled: boolean;
  is_read_by_tenants: boolean;
  /** Its rows are in partitions, which are no tables of their own here. */
  is_partitioned: boolean;
}

/** The tables whose rows are kept: not those that are emptied by a crash anyway, nor the list of migrations. */
export async function tablesOf(sql: postgres.Sql): Promise<TableFacts[]> {
  return sql<TableFacts[]>`
    select c.relname as name, c.relforcerowsecurity as is_walled, c.relkind = 'p' as is_partitioned,
      has_table_privilege('app_property', c.oid, 'select') as is_read_by_tenants,
      array(select a.attname::text from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
        order by a.attnum) as columns,
      array(select distinct t.relname::text from pg_constraint k join pg_class t on t.oid = k.confrelid
        where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as targets
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relpersistence = 'p'
      and not c.relispartition
      and c.relname <> 'migrations'
    order by c.relname`;
}

/** Each table after those that it refers to. */
export function inOrderOfReference(tables: readonly TableFacts[]): TableFacts[] {
  const ordered = new Set<TableFacts>();
  const add = (table: TableFacts, path: readonly string[]) => {
    if (path.includes(table.name)) throw new Error(`tables refer to each other: ${path.join(", ")}`);
    for (const target of table.targets) {
      const found = tables.find(({ name }) => name === target);
      if (found) add(found, [...path, table.name]);
    }
    ordered.add(table);
  };
  for (const table of tables) add(table, []);
  return [...ordered];
}
