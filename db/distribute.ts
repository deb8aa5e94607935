import type postgres from "postgres";
import { command } from "./connection/open.ts";
import { inOrderOfReference, type TableFacts, tablesOf } from "./tables.ts";

export interface Placed {
  table: string;
  /** distributed: each property's rows are on one node. copied: every node has the whole table. */
  place: "distributed" | "copied";
  milliseconds: number;
}

export async function hasCitus(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql`select from pg_extension where extname = 'citus'`;
  return row !== undefined;
}

/**
 * Settings of one session before its first statement on tables. Otherwise the first copied table would draw every
 * table that refers to it into the cluster, and one transaction could not place tables of both kinds.
 */
export async function readyForPlacing(sql: postgres.Sql): Promise<void> {
  await command(sql, "set citus.enable_local_reference_table_foreign_keys = off");
  await command(sql, "set citus.multi_shard_modify_mode = sequential");
}

/**
 * Places new tables over the nodes of a Citus cluster, in one transaction. Tenants' tables go by property_id, side by
 * side. Tables that they refer to, or that tenants read, are copied. The others stay on the coordinator. It also sets
 * what the nodes need.
 */
export async function distribute(sql: postgres.Sql): Promise<Placed[]> {
  const { distributed, copied } = await placesOf(sql);
  const placed = new Set(await placedTables(sql));
  const missing = [...copied, ...distributed].filter((table) => !placed.has(table));
  const needs = (await needsOf(sql)).filter(({ isMet }) => !isMet);
  if (missing.length + needs.length === 0) return [];
  return sql.begin(async (transaction) => {
    for (const { remedy } of needs) await command(transaction, remedy);
    await copyFunctions(transaction);
    const beside = distributed.find((table) => placed.has(table));
    const done: Placed[] = [];
    for (const table of missing) {
      const startedAt = performance.now();
      const isTenant = distributed.includes(table);
      const neighbor = beside ?? done.find(({ place }) => place === "distributed")?.table ?? "default";
      if (isTenant) await distributeTable(transaction, table, neighbor);
      else await transaction`select create_reference_table(${table})`;
      const milliseconds = Math.round(performance.now() - startedAt);
      done.push({ table, place: isTenant ? "distributed" : "copied", milliseconds });
    }
    return done;
  });
}

/**
 * Why tables cannot be placed here, in one sentence; null when they can. Citus 13.2.1, 13.2.2 and 14.0.1 keep a plan of
 * 33 KB for every prepared read of a shard that their own node has, for as long as the connection lives.
 */
export async function placingFlaw(sql: postgres.Sql): Promise<string | null> {
  const [found] = await sql<{ has_workers: boolean; holds_shards: boolean }[]>`
    select exists (select from pg_dist_node where groupid <> 0 and shouldhaveshards) as has_workers,
      exists (select from pg_dist_node where groupid = 0 and shouldhaveshards) or exists (
        select from pg_dist_placement join pg_dist_shard using (shardid) join pg_dist_partition using (logicalrelid)
        where groupid = 0 and partmethod = 'h') as holds_shards`;
  if (!found!.has_workers) return "a Citus cluster needs a worker for the rows: add one by citus_add_node";
  if (!found!.holds_shards) return null;
  return "on a Citus cluster the coordinator must have no shards, because its memory would fill with plans: run citus_drain_node for it as its owner";
}

/** Why the service cannot use this cluster, in one sentence; null when it can. */
export async function clusterFlaw(sql: postgres.Sql): Promise<string | null> {
  const need = (await needsOf(sql)).find(({ isMet }) => !isMet);
  if (need) return `on a Citus cluster ${need.sentence}: run \`${need.remedy}\` as its owner`;
  const [session] = await sql`select current_setting('citus.propagate_set_commands') as propagated`;
  if (session!.propagated !== "local") {
    return "on a Citus cluster citus.propagate_set_commands must be local, and the setting of this user or server is another one";
  }
  return refusedRole(sql);
}

/** The tables of either place, each after those that it refers to. The others stay on the coordinator. */
export async function placesOf(sql: postgres.Sql): Promise<Record<Placed["place"], string[]>> {
  const tables = await tablesOf(sql);
  const tenant = tables.filter(({ is_walled }) => is_walled);
  const copied = new Set(tables.filter((one) => one.is_read_by_tenants && !one.is_walled));
  const refers = (one: TableFacts, other: TableFacts) => one.targets.includes(other.name);
  // A copied table and a table of the coordinator alone may not refer to each other.
  let before = -1;
  while (copied.size > before) {
    before = copied.size;
    for (const one of tables) {
      const isBound = [...copied, ...tenant].some((other) => refers(other, one));
      if (!one.is_walled && (isBound || [...copied].some((other) => refers(one, other)))) copied.add(one);
    }
  }
  const names = (list: Iterable<TableFacts>) => inOrderOfReference([...list]).map(({ name }) => name);
  return { distributed: names(tenant), copied: names(copied) };
}

/** The wall holds for the owner too, and would hide the rows that are to be moved. Partitions have one each. */
async function distributeTable(sql: postgres.TransactionSql, table: string, neighbor: string): Promise<void> {
  const partitions = await sql<{ name: string }[]>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = ${table}::regclass`;
  const walled = [`"${table}"`, ...partitions.map(({ name }) => name)];
  for (const name of walled) await command(sql, `alter table ${name} no force row level security`);
  await sql`select create_distributed_table(${table}, 'property_id', colocate_with => ${neighbor})`;
  for (const name of walled) await command(sql, `alter table ${name} force row level security`);
}

/** Functions that were made before the cluster, in their order: a function's text may call an earlier one. */
async function copyFunctions(sql: postgres.TransactionSql): Promise<void> {
  const functions = await sql<{ name: string }[]>`
    select p.oid::regprocedure::text as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and not exists (
        select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
      and not exists (
        select from pg_catalog.pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid)
    order by p.oid`;
  // A function may read a table that other nodes do not have; it is called on the coordinator alone.
  await command(sql, "set local citus.propagate_set_commands = 'local'");
  await command(sql, "set local check_function_bodies = off");
  for (const { name } of functions) await sql`select create_distributed_function(${name})`;
}

async function placedTables(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
    where p.partmethod = 'h' or p.repmodel = 't'`;
  return rows.map(({ name }) => name);
}

interface Need {
  isMet: boolean;
  sentence: string;
  remedy: string;
}

/** The roles as which the coordinator logs in to the other nodes. */
const ROLES = ["app_property", "app_system", "app_reader"];
/** The settings of sessions on other nodes, which the service cannot set itself. Ledgers hash times as text. */
const SETTINGS = { timezone: "UTC", lock_timeout: "2s", jit: "off" };

async function needsOf(sql: postgres.Sql): Promise<Need[]> {
  const [database] = await sql<{ name: string; settings: string[] }[]>`
    select d.datname as name, coalesce(s.setconfig, '{}') as settings
    from pg_database d left join pg_db_role_setting s on s.setdatabase = d.oid and s.setrole = 0
    where d.datname = current_database()`;
  const roles = await sql<{ name: string; can_login: boolean; settings: string[] }[]>`
    select r.rolname as name, r.rolcanlogin as can_login, coalesce(s.setconfig, '{}') as settings
    from pg_roles r left join pg_db_role_setting s on s.setrole = r.oid and s.setdatabase = 0
    where r.rolname = any(${ROLES}) order by 1`;
  const propagated: Need = {
    isMet: database!.settings.includes("citus.propagate_set_commands=local"),
    sentence: "the nodes must get the settings of a transaction, among them its property",
    remedy: `alter database "${database!.name}" set citus.propagate_set_commands = 'local'`,
  };
  const ofRoles = roles.flatMap(({ name, can_login, settings }): Need[] => [
    {
      isMet: can_login,
      sentence: `the coordinator must be able to log in to the other nodes as ${name}`,
      remedy: `alter role ${name} login`,
    },
    ...Object.entries(SETTINGS).map(([setting, value]) => ({
      isMet: settings.some((one) => one.toLowerCase() === `${setting}=${value}`.toLowerCase()),
      sentence: `${name} must have the same ${setting} on every node`,
      remedy: `alter role ${name} set ${setting} = '${value}'`,
    })),
  ]);
  return [propagated, ...ofRoles];
}

/** A node that refuses a role; null where none does. A node that is down refuses nobody. */
async function refusedRole(sql: postgres.Sql): Promise<string | null> {
  for (const role of ROLES) {
    const refused = await sql.begin(async (transaction) => {
      await command(transaction, `set local role ${role}`);
      return transaction<{ node: string; result: string }[]>`
        select nodename || ':' || nodeport as node, result from run_command_on_workers('select 1')
        where not success and result ~ '(pg_hba|password|authentication|not permitted|does not exist)' limit 1`;
    });
    if (refused[0]) {
      const { node, result } = refused[0];
      return `on a Citus cluster each node must let the others in as ${role}, and ${node} does not (${result})`;
    }
  }
  return null;
}
