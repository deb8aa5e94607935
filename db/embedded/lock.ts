import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chown, stat } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

// A garbage-collected database handle releases its lock, so held handles are referenced here.
const held = new Set<DatabaseSync>();

/** Another process of the service uses the data folder. */
export class DataFolderInUse extends Error {}

/**
 * Locks a folder for this process until `release`, or until the process dies in any way. @throws DataFolderInUse
 * naming the process that has the folder.
 */
export async function lockFolder(folder: string): Promise<() => void> {
  // SQLite, because Node has no flock and SQLite's lock is the kernel's: kill -9 and a reboot leave nothing stale. A
  // pid file needs start times, races when a stale one is replaced, and lies in containers.
  const path = join(folder, "service.lock");
  const pidFile = join(folder, "service.pid");
  const lock = new DatabaseSync(path, { timeout: 200 });
  try {
    lock.exec("begin exclusive");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    throw new DataFolderInUse(`The data folder ${folder} is in use by process ${holder(pidFile)}.`);
  }
  held.add(lock);
  writeFileSync(pidFile, String(process.pid));
  await giveToOwner(folder, path, pidFile);
  return () => {
    if (!held.delete(lock)) return;
    rmSync(pidFile, { force: true });
    lock.close();
  };
}

/** Gives files that root has written to the folder's owner, who may start the service later without root. */
export async function giveToOwner(folder: string, ...files: string[]): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  for (const file of files) await chown(file, uid, gid);
}

function holder(pidFile: string): string {
  return existsSync(pidFile) ? readFileSync(pidFile, "utf8") : "unknown";
}
