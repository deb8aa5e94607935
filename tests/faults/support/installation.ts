import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEmbedded, startEmbedded } from "#db/embedded/start.ts";
import { type ServiceProcess, startService } from "./process.ts";
import { newDatabase } from "./server.ts";

/** One service over one database, which may be killed and started again. */
export interface Installation {
  /** The running service; starts one when there is none. */
  service(): Promise<ServiceProcess>;
  /** kill -9 */
  kill(): Promise<void>;
  /** The database's superuser URL, once the service has been started. */
  url(): string;
  close(): Promise<void>;
}

/** The database is on this process's server, and outlives the service. */
export async function openInstallation(environment: Record<string, string> = {}): Promise<Installation> {
  const url = await newDatabase();
  const start = () => startService({ ...on(url), ...environment });
  return installationOf({ start, url: () => url, clear: async () => {} });
}

/** The service brings its own database: a kill orphans it, the next start takes it over. */
export async function openEmbeddedInstallation(
  environment: Record<string, string> = {},
): Promise<Installation> {
  const folder = await mkdtemp(join(tmpdir(), "marketing-fault-"));
  let url: string | null = null;
  return installationOf({
    start: async () => {
      const service = await startService({ DATA_DIR: folder, ...environment });
      url = await findEmbedded(folder);
      return service;
    },
    url: () => {
      if (url === null) throw new Error("no embedded database answers");
      return url;
    },
    clear: async () => {
      // A server that was left behind is taken over, and ended.
      await (await startEmbedded({ dataDir: folder })).stop();
      // Started as root, the database's files may lie outside of the folder.
      const home = await realpath(join(folder, "postgres"));
      for (const each of [home, folder]) await rm(each, { recursive: true, force: true });
    },
  });
}

export interface Pair {
  url: string;
  first: ServiceProcess;
  second: ServiceProcess;
  close(): Promise<void>;
}

/** Two services over one database, which may differ. Without a database of the caller's own they get a new one. */
export async function openPair(
  environment: Record<string, string> = {},
  other: Record<string, string> = environment,
  database?: string,
): Promise<Pair> {
  const url = database ?? (await newDatabase());
  const [first, second] = await Promise.all(
    [environment, other].map((settings) => startService({ ...on(url), ...settings })),
  );
  return {
    url,
    first: first!,
    second: second!,
    close: async () => {
      await Promise.all([first?.terminate(), second?.terminate()]);
    },
  };
}

export const APP_SECRET = "f".repeat(32);

/** The settings of a service that uses a database of this process's server. */
function on(url: string): Record<string, string> {
  return { DATABASE_URL: url, APP_SECRET };
}

function installationOf(parts: {
  start(): Promise<ServiceProcess>;
  url(): string;
  clear(): Promise<void>;
}): Installation {
  let running: ServiceProcess | null = null;
  return {
    service: async () => {
      running ??= await parts.start();
      return running;
    },
    kill: async () => {
      await running?.kill();
      running = null;
    },
    url: parts.url,
    close: async () => {
      await running?.terminate();
      await parts.clear();
    },
  };
}
