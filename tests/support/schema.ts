import type postgres from "postgres";

export type Admin = postgres.Sql;

/** Platform tables that name a property: reference tables and the queue, which are not distributed. */
export const PLATFORM = new Set(["memberships", "invitations", "api_keys", "queue"]);

export interface Column {
  table: string;
  column: string;
  type: string;
  required: boolean;
  default: string | null;
}

export interface Constraint {
  table: string;
  name: string;
  kind: "p" | "u" | "f" | "c";
  columns: string[];
  target: string | null;
  targetColumns: string[];
  definition: string;
  /** The action of a foreign key when its target goes: a no action, r restrict, c cascade, n set null, d default. */
  onDelete: string;
}

/** The columns of every table, in their order. Partitions are parts of tables. */
export async function columnsIn(admin: Admin): Promise<Column[]> {
  return admin<Column[]>`
    select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as required,
      case when a.attgenerated <> '' then 'generated: ' || pg_get_expr(d.adbin, d.adrelid)
        when a.attidentity <> '' then 'identity'
        else pg_get_expr(d.adbin, d.adrelid) end as "default"
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by 1, a.attnum`;
}

/** Primary keys, unique constraints, foreign keys and checks. NOT NULL is the columns' own matter. */
export async function constraintsIn(admin: Admin): Promise<Constraint[]> {
  return admin<Constraint[]>`
    select c.relname as "table", k.conname as name, k.contype::text as kind,
      pg_get_constraintdef(k.oid) as definition, k.confdeltype::text as "onDelete", t.relname as target,
      array(select a.attname::text from unnest(k.conkey) with ordinality as n (number, place)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.number order by n.place) as columns,
      array(select a.attname::text from unnest(k.confkey) with ordinality as n (number, place)
        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = n.number order by n.place) as "targetColumns"
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    left join pg_class t on t.oid = k.confrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and k.contype in ('p', 'u', 'f', 'c')
    order by 1, 3, 2`;
}

export interface UniqueIndex {
  table: string;
  name: string;
  columns: string[];
}

/** Unique indexes, those behind primary keys and unique constraints among them, and their columns. */
export async function uniqueIndexesIn(admin: Admin): Promise<UniqueIndex[]> {
  return admin<UniqueIndex[]>`
    select c.relname as "table", x.relname as name,
      array(select pg_get_indexdef(i.indexrelid, n, true) from generate_series(1, i.indnkeyatts) n order by n) as columns
    from pg_index i
    join pg_class c on c.oid = i.indrelid
    join pg_class x on x.oid = i.indexrelid
    where c.relnamespace = 'public'::regnamespace and not c.relispartition and i.indisunique
    order by 1, 2`;
}

/** Tables whose rows are a tenant's. */
export function tenantTables(columns: Column[]): string[] {
  return [
    ...new Set(columns.filter(({ column }) => column === "property_id").map(({ table }) => table)),
  ].filter((table) => !PLATFORM.has(table));
}

/** Each table as text that is the same on every PostgreSQL from 15 on. */
export async function schemaTexts(admin: Admin): Promise<Map<string, string>> {
  const columns = await columnsIn(admin);
  const constraints = await constraintsIn(admin);
  const lines = await admin<{ table: string; line: string }[]>`
    select tablename as "table", 'index ' || regexp_replace(indexdef, '^CREATE ', '') as line
    from pg_indexes where schemaname = 'public'
    union all
    select tablename, format('policy %s for %s to %s using %s check %s', policyname, lower(cmd),
      array_to_string(roles, ','), coalesce(qual, '-'), coalesce(with_check, '-'))
    from pg_policies where schemaname = 'public'
    union all
    select c.relname, format('grant to %s: %s', g.grantee::regrole, string_agg(lower(g.privilege_type), ', ' order by g.privilege_type))
    from pg_class c, aclexplode(c.relacl) g
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and g.grantee <> c.relowner and g.grantee <> 0
    group by c.relname, g.grantee
    union all
    select c.relname, format('grant to %s on %s: %s', g.grantee::regrole, a.attname,
      string_agg(lower(g.privilege_type), ', ' order by g.privilege_type))
    from pg_class c join pg_attribute a on a.attrelid = c.oid, aclexplode(a.attacl) g
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    group by c.relname, a.attname, g.grantee
    union all
    select relname, 'row security' || case when relforcerowsecurity then ', forced' else '' end
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relrowsecurity`;
  const tables = [...new Set(columns.map(({ table }) => table))].sort();
  return new Map(
    tables.map((table) => {
      const own = <T extends { table: string }>(list: readonly T[]) =>
        list.filter((one) => one.table === table);
      const text = [
        ...own(columns).map(
          (one) =>
            `${one.column} ${one.type}${one.required ? " not null" : ""}${one.default ? ` default ${one.default}` : ""}`,
        ),
        ...[
          ...own(constraints).map(({ name, definition }) => `constraint ${name} ${definition}`),
          ...own(lines).map(({ line }) => line),
        ].sort(),
      ].join("\n");
      return [`${table}.txt`, `${text}\n`];
    }),
  );
}

/** The rows of a property in every tenant's table, as one hash a table. */
export async function fingerprints(admin: Admin, property: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const table of tenantTables(await columnsIn(admin))) {
    const [row] = await admin<{ hash: string }[]>`
      select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash
      from ${admin(table)} t where property_id = ${property}`;
    hashes[table] = row!.hash;
  }
  return hashes;
}
