import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { freePort } from "#db/embedded/server.ts";

const exec = promisify(execFile);
const BIN = "/usr/lib/postgresql/15/bin";

/** Whether Debian's PostgreSQL 15 is on this machine, with its programs. */
export const HAS_DEBIAN_15 = existsSync(join(BIN, "pg_dump"));

export interface DebianServer {
  /** Of the superuser, without a database. */
  url(database: string, user?: string): string;
  /** Runs a statement as the superuser. */
  run(statement: string, database?: string): Promise<void>;
  /** Runs one of the server's programs as the superuser on a database. */
  program(name: "pg_dump" | "pg_restore", args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** A server of PostgreSQL 15 of its own, without passwords. */
export async function startDebian15(): Promise<DebianServer> {
  const folder = await mkdtemp(join(tmpdir(), "debian-15-"));
  await chmod(folder, 0o777);
  const account = process.getuid?.() === 0 ? await nobody() : {};
  const cluster = join(folder, "cluster");
  await exec(
    join(BIN, "initdb"),
    ["-D", cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"],
    {
      ...account,
      cwd: "/",
    },
  );
  const port = await freePort(0);
  const options = ["-h", "127.0.0.1", "-p", String(port), "-k", "", "-F"];
  const child = spawn(join(BIN, "postgres"), ["-D", cluster, ...options], {
    ...account,
    cwd: "/",
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = (database: string, user = "postgres") => `postgres://${user}@127.0.0.1:${port}/${database}`;
  const run = async (statement: string, database = "postgres") => {
    const sql = postgres(url(database), { max: 1, onnotice: () => {} });
    await sql.unsafe(statement).finally(() => sql.end({ timeout: 1 }));
  };
  for (;;) {
    const isReady = await exec(join(BIN, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)]).then(
      () => true,
      () => false,
    );
    if (isReady) break;
    if (child.exitCode !== null) throw new Error("PostgreSQL 15 did not start");
  }
  return {
    url,
    run,
    program: async (name, args) => {
      const { stdout } = await exec(join(BIN, name), args).catch((error: { stdout: string }) => error);
      return stdout;
    },
    stop: async () => {
      child.kill("SIGINT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function nobody(): Promise<{ uid: number; gid: number }> {
  const { stdout } = await exec("id", ["-u", "nobody"]);
  const group = await exec("id", ["-g", "nobody"]);
  return { uid: Number(stdout), gid: Number(group.stdout) };
}
