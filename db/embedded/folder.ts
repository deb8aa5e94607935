import { execFile } from "node:child_process";
import {
  access,
  chmod,
  constants,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rmdir,
  stat,
  symlink,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const exec = promisify(execFile);

/** The system user that runs the server; undefined is the service's own user. */
export type Account = { uid: number; gid: number } | undefined;

// The server gets nothing else of the service's environment: its account could read secrets in /proc/<pid>/environ.
// LC_ALL keeps the server's messages in English.
export const SERVER_ENV = {
  PATH: process.env.PATH,
  LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH,
  SystemRoot: process.env.SystemRoot,
  LC_ALL: "C",
  TZ: "UTC",
};

/** Runs a program as the account and answers its output. @throws Error with the program's stderr. */
export async function runAs(account: Account, file: string, args: string[]): Promise<string> {
  const { stdout } = await exec(file, args, {
    ...account,
    cwd: "/",
    env: SERVER_ENV,
  });
  return stdout;
}

/** Creates the data folder where it is missing, and answers its real path. */
export async function openDataDir(dataDir: string): Promise<string> {
  await makeFolder(dataDir);
  const folder = await realpath(dataDir);
  await access(folder, constants.W_OK);
  // The service may open an empty folder for passing through (a umask of 077, mkdtemp), but never a full one.
  if (isRoot() && (await readdir(folder)).length === 0) {
    await chmod(folder, (await stat(folder)).mode | 0o011);
  }
  return folder;
}

/** Makes a folder and its parents. Node's own `recursive` tries forever in a place such as /proc, where a folder cannot be made. */
async function makeFolder(path: string): Promise<void> {
  if (await exists(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/**
 * The folder of the server's files: `postgres` in the data folder, or the target of a link by that name. The link
 * leads outside where the account cannot pass through the data folder's parents (a checkout in /root).
 */
export async function openHome(folder: string): Promise<string> {
  const path = join(folder, "postgres");
  if (await exists(path)) {
    return realpath(path).catch((cause: unknown) => {
      const advice = `Restore the link's target, or remove the link to begin with an empty database.`;
      throw new Error(`The database is gone: ${path} links to nothing. ${advice}`, { cause });
    });
  }
  if (await canEnter(await spareAccount(), folder)) {
    await mkdir(path);
    await chmod(path, 0o755);
    return path;
  }
  const outside = await makeOutside();
  await symlink(outside, path);
  return outside;
}

/** The account that runs this cluster's server: PostgreSQL refuses root. */
export async function chooseAccount(home: string, cluster: string): Promise<Account> {
  if (!isRoot()) return undefined;
  const owner = await stat(cluster).catch(() => undefined);
  const account = owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : await spareAccount();
  // Root has copied or restored the folder.
  if (owner?.uid === 0) await exec("chown", ["-R", `${account?.uid}:${account?.gid}`, cluster]);
  if (!(await canEnter(account, home))) {
    throw new Error(
      `User ${account?.uid} runs PostgreSQL and cannot reach ${home}. Set DATA_DIR to another folder.`,
    );
  }
  return account;
}

// initdb looks its user up, so the user must exist in the system.
async function spareAccount(): Promise<Account> {
  if (!isRoot()) return undefined;
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  const users = lines.map(([name, , uid, gid]) => ({
    name,
    uid: Number(uid),
    gid: Number(gid),
  }));
  const usable = users.filter(({ uid, gid }) => uid > 0 && uid < 2 ** 31 && gid >= 0);
  const chosen =
    usable.find(({ name }) => name === "postgres") ??
    usable.find(({ name }) => name === "nobody") ??
    usable[0];
  if (chosen) return { uid: chosen.uid, gid: chosen.gid };
  throw new Error("PostgreSQL does not run as root, and there is no other user here. Set DATABASE_URL.");
}

// The system decides, because mode bits know nothing of ACLs.
async function canEnter(account: Account, folder: string): Promise<boolean> {
  if (!account) return true;
  return runAs(account, "/bin/sh", ["-c", 'cd -- "$1"', "sh", folder]).then(
    () => true,
    () => false,
  );
}

// Folders that survive a reboot come first. mkdtemp creates the folder, so no other user can have prepared it.
async function makeOutside(): Promise<string> {
  for (const parent of ["/var/lib", "/var/tmp", tmpdir()]) {
    const made = await mkdtemp(join(parent, "player-marketing-")).catch(() => undefined);
    if (!made) continue;
    await chmod(made, 0o755);
    if (await canEnter(await spareAccount(), made)) return made;
    await rmdir(made);
  }
  throw new Error("There is no folder that PostgreSQL's user can reach. Set DATABASE_URL.");
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
