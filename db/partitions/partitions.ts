import { firstIdOf, type Month, monthName, monthOf } from "./month.ts";

/** Runs a statement without parameters as the owner of the tables. */
export type Run = <R extends object>(statement: string) => PromiseLike<readonly R[]>;

/** Months that are made before they begin: the next ones after the present month. */
const MONTHS_AHEAD = 2;

export interface Partitioned {
  table: string;
  /** In their order. */
  months: Month[];
  /** The partition for rows of a month that has none. */
  hasRest: boolean;
}

export interface Partition {
  table: string;
  month: Month;
}

/** The tables that are partitioned by month, with their partitions. */
export async function partitionedTables(run: Run): Promise<Partitioned[]> {
  const rows = await run<{ table: string; partitions: string[] }>(`
    select p.relname as "table", array(
      select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = p.oid
    ) as partitions
    from pg_class p where p.relkind = 'p' and p.relnamespace = 'public'::regnamespace order by 1`);
  return rows.map(({ table, partitions }) => ({
    table,
    months: partitions
      .flatMap((name) => {
        const [, year, month] = /_(\d{4})_(\d\d)$/.exec(name) ?? [];
        return year ? [Number(year) * 12 + Number(month) - 1] : [];
      })
      .sort((a, b) => a - b),
    hasRest: partitions.includes(restOf(table)),
  }));
}

/** The partitions that are to be there at a time, in milliseconds since 1970, and are not. */
export function missingPartitions(tables: readonly Partitioned[], now: number): Partition[] {
  const present = monthOf(now);
  const wanted = Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) => present + ahead);
  return tables.flatMap(({ table, months }) =>
    wanted.flatMap((month) => (months.includes(month) ? [] : [{ table, month }])),
  );
}

/**
 * Makes a month's partition, in the transaction of `run`. Rows of the month that the rest has are moved into it. Roles
 * of the service have no right to a partition and no policy in it: rows are reached through the table alone.
 */
export async function makePartition(run: Run, { table, month }: Partition): Promise<void> {
  const [name, rest] = [partitionName(table, month), restOf(table)];
  const [from, to] = [firstIdOf(month), firstIdOf(month + 1)];
  const ofMonth = `id >= '${from}' and id < '${to}'`;
  const bounds = `for values from ('${from}') to ('${to}')`;
  await beginChange(run);
  // The wall holds for the owner too, and would hide the rows that are to be moved.
  await run(`alter table ${rest} no force row level security`);
  const [stray] = await run(`select from ${rest} where ${ofMonth} limit 1`);
  if (stray) {
    await run(`create table ${name} (like ${table} including all)`);
    const [cluster] = await run<{ is_cluster: boolean }>("select is_distributed() as is_cluster");
    if (cluster!.is_cluster)
      await run(`select create_distributed_table('${name}', 'property_id', colocate_with => '${table}')`);
    await run(`insert into ${name} select * from ${rest} where ${ofMonth}`);
    await run(`delete from ${rest} where ${ofMonth}`);
    await run(`alter table ${table} attach partition ${name} ${bounds}`);
  } else {
    await run(`create table ${name} partition of ${table} ${bounds}`);
  }
  await run(wall(name));
  await run(`alter table ${rest} force row level security`);
}

/** Makes the partition that takes the rows of months without one: no write fails for want of a partition. */
export async function makeRest(run: Run, table: string): Promise<void> {
  await run(`create table ${restOf(table)} partition of ${table} default`);
  await run(wall(restOf(table)));
}

/** Drops a month's partition with its rows, in the transaction of `run`. */
export async function dropPartition(run: Run, { table, month }: Partition): Promise<void> {
  await beginChange(run);
  await run(`drop table ${partitionName(table, month)}`);
}

/** A change of the table waits for its readers, and everybody else then waits for the change: so not for long. */
async function beginChange(run: Run): Promise<void> {
  await run("set local lock_timeout = '1s'");
  const [cluster] = await run<{ is_cluster: boolean }>("select is_distributed() as is_cluster");
  if (cluster!.is_cluster) await run("set local citus.multi_shard_modify_mode = 'sequential'");
}

function partitionName(table: string, month: Month): string {
  return `${table}_${monthName(month).replace("-", "_")}`;
}

function restOf(table: string): string {
  return `${table}_rest`;
}

const wall = (name: string) => `alter table ${name} enable row level security, force row level security`;
