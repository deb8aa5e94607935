import { DataFolderInUse } from "#db/embedded-lock.ts";
import { ConfigError } from "#runtime/config.ts";

/** Says it where the database that DATABASE_URL names does not answer, or does not let us in. */
export function ofDatabase(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "42501") {
    return new ConfigError(`DATABASE_URL: its user must own the database and have CREATEROLE (${message}).`);
  }
  if (code === "UNFIT") return new ConfigError(`DATABASE_URL: the database cannot be used: ${message}.`);
  if (!/^(E[A-Z]+|CONNECT_TIMEOUT|28\w{3}|3D000)$/.test(code ?? "")) return error;
  return new ConfigError(`DATABASE_URL: the database cannot be used (${code}: ${message}).`);
}

/** Says it where the data folder is none, or may not be written. */
export function ofFolder(dataDir: string, error: unknown): unknown {
  const { code = "", syscall = "", message } = error as NodeJS.ErrnoException;
  const isOfFiles = /^(E[A-Z]+|ERR_SQLITE_ERROR)$/.test(code) && !/^(spawn|connect)/.test(syscall);
  return isOfFiles ? new ConfigError(`DATA_DIR: ${dataDir} cannot be used (${message}).`) : error;
}

/** What a person reads who has started it: words where it was expected, else where it came from. */
export function told(error: unknown): string {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const expected = error instanceof ConfigError || error instanceof DataFolderInUse;
  return expected ? message : (stack ?? message);
}
