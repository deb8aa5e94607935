import { statfsSync } from "node:fs";
import { BackupError } from "#db/backup/file.ts";
import { DataFolderInUse } from "#db/embedded/lock.ts";
import { UnreleasedDatabase } from "#db/migrate.ts";
import { ConfigError } from "#runtime/config.ts";

/** Prints a line for people on stderr: stdout is for results. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A readable error if the database of DATABASE_URL does not answer or refuses the user; else the same error. */
export function databaseError(error: unknown): unknown {
  const { code, message, syscall } = error as NodeJS.ErrnoException;
  // Our own port, if taken, gives such a code too.
  if (syscall === "listen") return error;
  if (code === "42501") {
    return new ConfigError(`DATABASE_URL: its user must own the database and have CREATEROLE (${message}).`);
  }
  if (code === "UNFIT") return new ConfigError(`DATABASE_URL: the database cannot be used: ${message}.`);
  if (!/^(E[A-Z]+|CONNECT_TIMEOUT|28\w{3}|3D000)$/.test(code ?? "")) return error;
  return new ConfigError(`DATABASE_URL: the database cannot be used (${code}: ${message}).`);
}

/** A readable error if the data folder cannot be used; else the same error. */
export function folderError(dataDir: string, error: unknown): unknown {
  const { code = "", syscall = "", message } = error as NodeJS.ErrnoException;
  const isFileError = /^(E[A-Z]+|ERR_SQLITE_ERROR)$/.test(code) && !/^(spawn|connect)/.test(syscall);
  if (/No space left on device|ENOSPC/.test(message) || (!isFileError && isFull(dataDir))) {
    return new ConfigError(`DATA_DIR: ${dataDir} has no space left. The database needs 100 MB more there.`);
  }
  return isFileError ? new ConfigError(`DATA_DIR: ${dataDir} cannot be used (${message}).`) : error;
}

/** PostgreSQL writes its log in files of 16 MB, and starts with one more. */
const LEAST_BYTES = 32 * 1024 * 1024;

/** Whether the folder has too little room for a start. On a full disk the server cannot write its reason either. */
function isFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < LEAST_BYTES;
  } catch {
    return false;
  }
}

/** The text of an error for the operator: the message of an expected error, the stack of any other. */
export function errorText(error: unknown): string {
  // A part that had started could not be stopped either.
  if (error instanceof SuppressedError) return `${errorText(error.suppressed)}\n${errorText(error.error)}`;
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  const isExpected = [ConfigError, BackupError, DataFolderInUse, UnreleasedDatabase].some(
    (type) => error instanceof type,
  );
  return isExpected ? message : (stack ?? message);
}
