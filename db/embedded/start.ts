import { existsSync } from "node:fs";
import { realpath, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import postgres from "postgres";
import { type Binaries, runnable, shippedBinaries } from "./binaries.ts";
import { ensureCluster, type Note, newPassword, readNote, sweep, writeNote } from "./cluster.ts";
import { type Account, chooseAccount, openDataDir, openHome } from "./folder.ts";
import { lockFolder } from "./lock.ts";
import { freePort, launch, type Server, stopLeftBehind } from "./server.ts";

export interface EmbeddedDatabase {
  /** Superuser's URL of the database `marketing`, on 127.0.0.1. */
  url: string;
  /** True when this call has created the database. */
  fresh: boolean;
  /** Stops the server and releases the data folder. Open statements fail; committed data is kept. */
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  dataDir: string;
  /** False for tests only: faster, but a crash of the machine may lose all data. */
  durable?: boolean;
  log?: (line: string) => void;
}

/**
 * Starts a PostgreSQL of the service's own, with its files in `dataDir`. @throws DataFolderInUse when another process
 * uses the folder. @throws Error when the optional package is missing, or when the server fails (with its log).
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const log = options.log ?? (() => undefined);
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
    if (home !== join(folder, "postgres")) log(`the database's files are in ${home}`);
    const { server, url } = await startServer({
      shipped,
      folder,
      home,
      durable: options.durable ?? true,
      log,
    });
    try {
      return { url, fresh: await ensureDatabase(url), stop: stopOnce(server, release, log) };
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
  const sql = postgres(urlOf(note), { max: 1, connect_timeout: 3, onnotice: () => undefined });
  try {
    // A copied data folder holds the original's address in its note.
    const [server] = await sql`select current_setting('data_directory') as cluster`;
    return server?.cluster === (await realpath(join(dataDir, "postgres/cluster"))) ? urlOf(note) : null;
  } catch {
    return null;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

type Log = (line: string) => void;

interface Start {
  shipped: Binaries;
  folder: string;
  home: string;
  durable: boolean;
  log: Log;
}

async function startServer({ shipped, folder, home, durable, log }: Start) {
  const cluster = join(home, "cluster");
  const account = await chooseAccount(home, cluster);
  if (await stopLeftBehind(cluster, account)) log("stopped the database server that an earlier run has left");
  const binaries = await runnable(shipped, home, account);
  await sweep(home, binaries);
  const note = await openNote(folder, cluster);
  await ensureCluster({ home, cluster, account, binaries, password: note.password, durable });
  const logFile = join(folder, "postgres.log");
  await rename(logFile, `${logFile}.old`).catch(() => undefined);
  return launchOnFreePort({ folder, cluster, account, binaries, durable, logFile, note, log });
}

interface Launch {
  folder: string;
  cluster: string;
  account: Account;
  binaries: Binaries;
  durable: boolean;
  logFile: string;
  note: Note;
  log: Log;
}

async function launchOnFreePort(plan: Launch): Promise<{ server: Server; url: string }> {
  const { folder, binaries, note, log } = plan;
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(note.port);
    if (note.port !== port) {
      if (note.port !== 0) log(`port ${note.port} is taken; the database listens on ${port}`);
      note.port = port;
      await writeNote(folder, note);
    }
    try {
      return { server: await launch({ ...plan, postgres: binaries.postgres, port }), url: urlOf(note) };
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
  const sql = postgres(url, { database: "postgres", max: 1, onnotice: () => undefined });
  try {
    const [found] = await sql`select from pg_database where datname = 'marketing'`;
    if (!found) await sql`create database marketing`;
    return !found;
  } finally {
    await sql.end();
  }
}

function stopOnce(server: Server, release: () => void, log: Log): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  void server.ended.then((reason) => {
    if (!stopped) log(`the database server has stopped by itself: ${reason}`);
  });
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
