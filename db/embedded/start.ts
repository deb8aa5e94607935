import { existsSync } from "node:fs";
import { realpath, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { openClient } from "#db/connection/open.ts";
import { type Binaries, runnable, shippedBinaries } from "./binaries.ts";
import { ensureCluster, type Note, newPassword, readNote, sweep, writeNote } from "./cluster.ts";
import { type Account, chooseAccount, openDataDir, openHome } from "./folder.ts";
import { lockFolder } from "./lock.ts";
import { freePort, launch, type Server, stopLeftBehind } from "./server.ts";
import { type ServerLog, type Supervised, supervise } from "./supervise.ts";

export interface EmbeddedDatabase {
  /** Superuser's URL of the database `marketing`, on 127.0.0.1. */
  url: string;
  /** True when this call has created the database. */
  fresh: boolean;
  /** Resolves with the reason when the server has ended by itself, and five attempts to start it again have failed. */
  lost: Promise<string>;
  /** Stops the server and releases the data folder. Open statements fail; committed data is kept. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  dataDir: string;
  /** False for tests only: faster, but a crash of the machine may lose all data. */
  durable?: boolean;
  log?: ServerLog;
}

/**
 * Starts a PostgreSQL of the service's own, with its files in `dataDir`, and starts it again whenever it ends by
 * itself. @throws DataFolderInUse when another process uses the folder. @throws Error when the optional package is
 * missing, or when the server fails (with its log).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const log = options.log ?? SILENT;
  const shipped = await shippedBinaries();
  const folder = await openDataDir(resolve(options.dataDir));
  const releases = [await lockFolder(folder)];
  const release = () => {
    for (const each of releases.splice(0)) each();
  };
  try {
    const home = await openHome(folder);
    // A copied data folder links to the same home outside both folders, so the home is locked too.
    releases.push(await lockFolder(home));
    if (home !== join(folder, "postgres")) log.info(`the database's files are in ${home}`);
    const { server, url } = await startServer({
      shipped,
      folder,
      home,
      durable: options.durable ?? true,
      log,
    });
    try {
      return { url, fresh: await ensureDatabase(url), lost: server.lost, stop: stopOnce(server, release) };
    } catch (error) {
      await server.stop();
      throw error;
    }
  } catch (error) {
    release();
    throw error;
  }
}

/** URL of the database that a running service has in `dataDir`; null when its server does not answer. */
export async function findEmbedded(dataDir: string): Promise<string | null> {
  const note = await readNote(resolve(dataDir));
  if (!note) return null;
  const { sql, cut } = openClient(urlOf(note), { connect_timeout: 3, onnotice: () => undefined });
  try {
    // A copied data folder holds the original's address in its note.
    const [server] = await sql`select current_setting('data_directory') as cluster`;
    return server?.cluster === (await realpath(join(dataDir, "postgres/cluster"))) ? urlOf(note) : null;
  } catch {
    return null;
  } finally {
    cut();
  }
}

const SILENT: ServerLog = { info: () => undefined, error: () => undefined };

interface Start {
  shipped: Binaries;
  folder: string;
  home: string;
  durable: boolean;
  log: ServerLog;
}

async function startServer({ shipped, folder, home, durable, log }: Start) {
  const cluster = join(home, "cluster");
  const account = await chooseAccount(home, cluster);
  if (await stopLeftBehind(cluster, account))
    log.info("stopped the database server that an earlier run has left");
  const binaries = await runnable(shipped, home, account);
  await sweep(home, binaries);
  const note = await openNote(folder, cluster);
  await ensureCluster({ home, cluster, account, binaries, password: note.password, durable });
  const logFile = join(folder, "postgres.log");
  await rename(logFile, `${logFile}.old`).catch(() => undefined);
  const plan = { folder, cluster, account, binaries, durable, logFile, note, log };
  const server = await launchOnFreePort(plan);
  // At the same address: the connections' pools know no other.
  const relaunch = async () => {
    await stopLeftBehind(cluster, account);
    return launch({ ...plan, postgres: binaries.postgres, port: note.port });
  };
  return { server: supervise(server, relaunch, log), url: urlOf(note) };
}

interface Launch {
  folder: string;
  cluster: string;
  account: Account;
  binaries: Binaries;
  durable: boolean;
  logFile: string;
  note: Note;
  log: ServerLog;
}

async function launchOnFreePort(plan: Launch): Promise<Server> {
  const { folder, binaries, note, log } = plan;
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(note.port);
    if (note.port !== port) {
      if (note.port !== 0) log.info(`port ${note.port} is taken; the database listens on ${port}`);
      note.port = port;
      await writeNote(folder, note);
    }
    try {
      return await launch({ ...plan, postgres: binaries.postgres, port });
    } catch (error) {
      // Another process may have taken the port since the check.
      if (attempt === 5 || (await freePort(port)) === port) throw error;
    }
  }
}

async function openNote(folder: string, cluster: string): Promise<Note> {
  const known = await readNote(folder);
  if (known) return known;
  if (existsSync(cluster)) {
    throw new Error(
      `${join(folder, "postgres.json")} is missing: it holds the password of ${cluster}. Restore it from a backup.`,
    );
  }
  const note = { port: 0, password: newPassword() };
  await writeNote(folder, note);
  return note;
}

async function ensureDatabase(url: string): Promise<boolean> {
  const { sql, end } = openClient(url, { database: "postgres", onnotice: () => undefined });
  try {
    const [found] = await sql`select from pg_database where datname = 'marketing'`;
    if (!found) await sql`create database marketing`;
    return !found;
  } finally {
    await end();
  }
}

function stopOnce(server: Supervised, release: () => void): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await server.stop();
    release();
  };
  return () => {
    stopped ??= stop();
    return stopped;
  };
}

function urlOf({ port, password }: Note): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/marketing`;
}
