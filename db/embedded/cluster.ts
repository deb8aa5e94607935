import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Binaries } from "./binaries.ts";
import { type Account, runAs } from "./folder.ts";
import { giveToOwner } from "./lock.ts";

const Note = z.object({ port: z.int(), password: z.string() });

/** The note in a data folder: facts about its server for the next start. */
export type Note = z.infer<typeof Note>;

/** The data folder's note; null before the first start of a server. */
export async function readNote(folder: string): Promise<Note | null> {
  const path = join(folder, "postgres.json");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : Note.parse(JSON.parse(text));
}

/** Replaces the note atomically: a crash leaves neither half of it nor a cluster with an unknown password. */
export async function writeNote(folder: string, note: Note): Promise<void> {
  const draft = join(folder, "postgres.json.new");
  await rm(draft, { force: true });
  await writeFile(draft, JSON.stringify(note), { mode: 0o600, flush: true });
  await giveToOwner(folder, draft);
  await rename(draft, join(folder, "postgres.json"));
  await syncFolder(folder);
}

/** A password for a new cluster. */
export function newPassword(): string {
  return randomBytes(24).toString("base64url");
}

interface ClusterPlan {
  home: string;
  cluster: string;
  account: Account;
  binaries: Binaries;
  password: string;
  durable: boolean;
}

/** Creates the cluster where there is none: whole, or not at all. */
export async function ensureCluster(plan: ClusterPlan): Promise<void> {
  if (await stat(plan.cluster).catch(() => undefined)) return;
  const work = await mkdtemp(join(plan.home, "new-"));
  const passwordFile = join(work, "password");
  await writeFile(passwordFile, plan.password, { mode: 0o600 });
  await chmod(work, 0o700);
  if (plan.account) {
    await chown(passwordFile, plan.account.uid, plan.account.gid);
    await chown(work, plan.account.uid, plan.account.gid);
  }
  await initialize(plan, join(work, "cluster"), passwordFile);
  await rename(join(work, "cluster"), plan.cluster);
  await syncFolder(plan.home);
  await rm(work, { recursive: true });
}

/** Removes the leftovers of interrupted starts and older versions from `home`. */
export async function sweep(home: string, binaries: Binaries): Promise<void> {
  for (const name of await readdir(home)) {
    const path = join(home, name);
    const stale = name.startsWith("native-") && !binaries.postgres.startsWith(path);
    // An orphaned initdb may still write into its folder; the next start removes the rest.
    if (stale || name.startsWith("new-")) await rm(path, { recursive: true }).catch(() => undefined);
  }
}

// The built-in C.UTF-8 compares bytes: text has the same order on every machine and after every libc upgrade. Without
// strcoll, text indexes are fast and serve LIKE 'a%'. Its lower() and ~* know all of Unicode. lc_ctype stays the
// system's, because pg_trgm decides by it which characters are letters: with C it drops 'Ж' and 'Ä'.
async function initialize(plan: ClusterPlan, folder: string, passwordFile: string): Promise<void> {
  const locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  const access = ["--username=postgres", `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  const rest = [...locale, ...access, ...(plan.durable ? [] : ["--no-sync"]), "-D", folder];
  for (const ctype of ["C.UTF-8", "en_US.UTF-8", "C"]) {
    try {
      await runAs(plan.account, plan.binaries.initdb, [`--lc-ctype=${ctype}`, ...rest]);
      return;
    } catch (error) {
      if (ctype === "C" || !String(error).includes("invalid locale name")) throw error;
    }
  }
}

// A rename is durable only once its folder is synced.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  await handle.sync();
  await handle.close();
}
