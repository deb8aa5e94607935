import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { withDatabase } from "../postgres/server-url.ts";

/** Small, because every test file has a copy. */
const SHARDS = 2;

/** The other nodes of a server that is the coordinator of a Citus cluster. Empty for any other server. */
export async function workersOf(server: string): Promise<string[]> {
  return onServer(server, async (admin) => {
    const [citus] = await admin`select from pg_extension where extname = 'citus'`;
    if (!citus) return [];
    const nodes = await admin<{ nodename: string; nodeport: number }[]>`
      select nodename, nodeport from pg_dist_node where groupid <> 0 and isactive order by nodeid`;
    return nodes.map(({ nodename, nodeport }) => {
      const url = new URL(server);
      url.hostname = nodename;
      url.port = String(nodeport);
      return url.href;
    });
  });
}

/** An empty database on every node, which know nothing of each other. */
export async function createDatabases(nodes: readonly string[], name: string): Promise<void> {
  for (const node of nodes) await onServer(node, (admin) => admin.unsafe(`create database ${name}`));
}

/** Makes a cluster of the databases of this name, as those of `server` are one. */
export async function joinDatabases(server: string, workers: readonly string[], name: string): Promise<void> {
  for (const node of [server, ...workers]) {
    await onServer(withDatabase(node, name), (admin) => admin.unsafe("create extension citus"));
  }
  await onServer(server, (admin) => admin.unsafe(`alter database ${name} set citus.shard_count = ${SHARDS}`));
  await onServer(withDatabase(server, name), async (admin) => {
    const own = new URL(server);
    await admin`select citus_set_coordinator_host(${own.hostname}, ${Number(own.port)})`;
    for (const worker of workers.map((url) => new URL(url))) {
      await admin`select citus_add_node(${worker.hostname}, ${Number(worker.port)})`;
    }
  });
}

/** A copy of a distributed database: its parts find each other by their name. */
export async function cloneCluster(
  server: string,
  workers: readonly string[],
  template: string,
  name: string,
): Promise<void> {
  const copies = [server, ...workers].map((node) =>
    onServer(node, async (admin) => {
      // Citus keeps a connection of its own to each database, and a database in use cannot be copied.
      await admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${template}`;
      await admin.unsafe(`create database ${name} template ${template} strategy file_copy`);
    }),
  );
  await Promise.all(copies);
  // Settings of a database are not copied.
  await onServer(server, (admin) =>
    admin.unsafe(`alter database ${name} set citus.propagate_set_commands = 'local'`),
  );
}

export interface ClusterDatabase {
  name: string;
  /** Of the database on the coordinator. */
  url: string;
  /** Makes a cluster of the databases on the nodes. */
  join(): Promise<void>;
  drop(): Promise<void>;
}

/**
 * Empty databases on the nodes of the cluster of CITUS_URL, the address of a coordinator, or of TEST_DATABASE_URL.
 * Null, with a line, where neither names one.
 */
export async function clusterDatabase(): Promise<ClusterDatabase | null> {
  const { CITUS_URL: own, TEST_DATABASE_URL: given } = process.env;
  const server = own ?? given;
  const workers = server ? await workersOf(server) : [];
  if (!server || workers.length === 0) {
    process.stderr.write("no Citus cluster at hand: its tests do not run (CITUS_URL names a coordinator)\n");
    return null;
  }
  const name = `c_${randomBytes(8).toString("hex")}`;
  await createDatabases([server, ...workers], name);
  return {
    name,
    url: withDatabase(server, name),
    join: () => joinDatabases(server, workers, name),
    drop: () => dropDatabase(server, workers, name),
  };
}

/** Drops a database on every node. */
export async function dropDatabase(server: string, workers: readonly string[], name: string): Promise<void> {
  for (const node of [server, ...workers]) await onServer(node, (admin) => dropOn(admin, name));
}

/** Citus may open its own connection to the database anew while PostgreSQL waits for the end of all. */
async function dropOn(admin: postgres.Sql, name: string, tries = 5): Promise<void> {
  try {
    await admin.unsafe(`drop database if exists ${name} with (force)`);
  } catch (error) {
    const isInUse = error instanceof postgres.PostgresError && error.code === "55006";
    if (!isInUse || tries === 1) throw error;
    await dropOn(admin, name, tries - 1);
  }
}

/** The rows of a table that the planner expects, over all nodes. */
export async function expectedRows(database: string, table: string): Promise<number> {
  return onServer(database, async (admin) => {
    const [citus] = await admin`select from pg_extension where extname = 'citus'`;
    const [known] = citus
      ? await admin<{ rows: number }[]>`
          select sum(result::float8) as rows from run_command_on_shards(${table},
            'select greatest(reltuples, 0) from pg_class where oid = ''%s''::regclass')`
      : await admin<{ rows: number }[]>`
          select reltuples::float8 as rows from pg_class where oid = ${table}::regclass`;
    return known!.rows;
  });
}

async function onServer<T>(url: string, work: (admin: postgres.Sql) => PromiseLike<T>): Promise<T> {
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
