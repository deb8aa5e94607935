import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import type postgres from "postgres";
import { command, openClient } from "./connection/open.ts";
import {
  clusterFlaw,
  distribute,
  hasCitus,
  type Placed,
  placingFlaw,
  readyForPlacing,
} from "./distribute.ts";
import {
  makePartition,
  makeRest,
  missingPartitions,
  partitionedTables,
  type Run,
} from "./partitions/partitions.ts";
import { ensureRoles, restoreAccess } from "./roles.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
const LOCK = 7_305_133;

export interface Applied {
  name: string;
  milliseconds: number;
}

/** Until 1.0.0 the migrations are an edited baseline: a database in another state cannot be migrated. */
export class UnreleasedDatabase extends Error {
  constructor(migration: string) {
    super(
      `The database was made by another unreleased version (${migration} is not as it is here) and must be made anew: with that version write each property's players to a file (npm run -s tool -- export-players --property <name> > players.csv), then start this version on an empty database, or with an empty DATA_DIR, and import each file (npm run tool -- create-import-job --property <name> --csv @players.csv --consent …).`,
    );
  }
}

export interface Migrated {
  applied: Applied[];
  /** The tables that were placed over the nodes of a cluster. Empty where there is no cluster. */
  placed: Placed[];
}

const PATIENCE_MS = 10_000;

/**
 * Migrates a database under an advisory lock, and distributes its tables where it has Citus. Throws
 * UnreleasedDatabase. Throws when the service cannot use the database or its cluster, or gets no connection within
 * `patience` milliseconds.
 */
export async function migrate(url: string, patience = PATIENCE_MS): Promise<Migrated> {
  const { sql, cut } = openClient(url, { onnotice: () => {}, connect_timeout: PATIENCE_MS / 1000 });
  try {
    await within(patience, cut, checkServer(sql));
    await sql`select pg_advisory_lock(${LOCK})`;
    const isCluster = await hasCitus(sql);
    if (isCluster) await readyForPlacing(sql);
    await ensureRoles(sql);
    await sql`create table if not exists migrations (
      name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
    await sql`grant select on migrations to app_system`;
    const recorded = await sql<{ name: string; checksum: string }[]>`
      select name, checksum from migrations order by name`;
    const files = await readMigrations();
    const other = recorded.find(({ name, checksum }) => files.get(name)?.checksum !== checksum);
    if (other) throw new UnreleasedDatabase(other.name);
    const done = new Set(recorded.map(({ name }) => name));
    await restoreAccess(
      sql,
      [...files].flatMap(([name, { text }]) => (done.has(name) ? [text] : [])),
    );
    const applied: Applied[] = [];
    for (const [name, { text, checksum }] of files) {
      if (!done.has(name)) applied.push(await apply(sql, name, text, checksum));
    }
    const flaw = isCluster ? await placingFlaw(sql) : null;
    if (flaw) throw unfitError(flaw);
    const placed = isCluster ? await distribute(sql) : [];
    await makeMonths(sql);
    if (isCluster) await checkCluster(url);
    return { applied, placed };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The checksum of each migration of this version, by its name. */
export async function migrationsHere(): Promise<ReadonlyMap<string, string>> {
  known ??= readMigrations().then(
    (files) => new Map([...files].map(([name, { checksum }]) => [name, checksum])),
  );
  return known;
}
let known: Promise<Map<string, string>> | undefined;

/** The migrations in the order of their application. */
async function readMigrations(): Promise<Map<string, { text: string; checksum: string }>> {
  const names = (await readdir(FOLDER)).filter((file) => file.endsWith(".sql")).sort();
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, FOLDER), "utf8")));
  return new Map(
    names.map((name, index) => {
      const text = texts[index]!;
      return [name, { text, checksum: createHash("sha256").update(text).digest("hex") }];
    }),
  );
}

/** The present month's partitions and those of the next ones. A later start, or a job, makes what a reader delays. */
async function makeMonths(sql: postgres.Sql): Promise<void> {
  const tables = await partitionedTables((statement) => command(sql, statement));
  const [clock] = await sql<{ now: number }[]>`select extract(epoch from now())::float8 * 1000 as now`;
  const months = missingPartitions(tables, clock!.now);
  const rests = tables.filter(({ hasRest }) => !hasRest);
  if (months.length + rests.length === 0) return;
  await sql
    .begin(async (transaction) => {
      const run: Run = (statement) => command(transaction, statement);
      for (const { table } of rests) await makeRest(run, table);
      for (const partition of months) await makePartition(run, partition);
    })
    .catch((error: { code?: string }) => {
      if (error.code !== "55P03" || rests.length > 0) throw error;
    });
}

interface ServerFacts {
  /** 180001 means 18.1. */
  version: number;
  encoding: string;
}

/** On a session of its own: it has the settings that sessions of the service begin with. */
async function checkCluster(url: string): Promise<void> {
  const { sql, end } = openClient(url, { onnotice: () => {}, connect_timeout: PATIENCE_MS / 1000 });
  try {
    const flaw = await clusterFlaw(sql);
    if (flaw) throw unfitError(flaw);
  } finally {
    await end();
  }
}

async function checkServer(sql: postgres.Sql): Promise<void> {
  const [server] = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding`;
  const flaw = unfit(server!);
  if (flaw) throw unfitError(flaw);
}

function unfitError(flaw: string): Error {
  return Object.assign(new Error(flaw), { code: "UNFIT" });
}

/** The reason why the service cannot use a database; null when it can. */
export function unfit({ version, encoding }: ServerFacts): string | null {
  if (version < 150_000) return `it is PostgreSQL ${Math.floor(version / 10_000)}, and 15 or newer is needed`;
  if (encoding !== "UTF8") return `its encoding is ${encoding}, and must be UTF8`;
  return null;
}

/** The driver reconnects without end when a connection closes before it is ready. */
async function within(patience: number, cut: () => void, first: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = `the server there did not become ready within ${patience} ms`;
  const timer = setTimeout(() => {
    reject(Object.assign(new Error(message), { code: "CONNECT_TIMEOUT" }));
    cut();
  }, patience);
  try {
    await Promise.race([first, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function apply(sql: postgres.Sql, name: string, text: string, checksum: string): Promise<Applied> {
  const startedAt = performance.now();
  await sql.begin(async (transaction) => {
    await command(transaction, text).simple();
    await transaction`insert into migrations (name, checksum) values (${name}, ${checksum})`;
  });
  return { name, milliseconds: Math.round(performance.now() - startedAt) };
}
