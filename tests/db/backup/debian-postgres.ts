import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
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
  /** A streaming standby of this server, with all that it has now. */
  standby(): Promise<Standby>;
  stop(): Promise<void>;
}

export interface Standby {
  url: DebianServer["url"];
  /** As a crash ends it. */
  kill(): Promise<void>;
  start(): Promise<void>;
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
  const server = await startServer(cluster, port, account);
  const urlAt =
    (at: number) =>
    (database: string, user = "postgres") =>
      `postgres://${user}@127.0.0.1:${at}/${database}`;
  const url = urlAt(port);
  const run = async (statement: string, database = "postgres") => {
    const sql = postgres(url(database), { max: 1, onnotice: () => {} });
    await sql.unsafe(statement).finally(() => sql.end({ timeout: 1 }));
  };
  const standbys: Standby[] = [];
  return {
    url,
    run,
    program: async (name, args) => {
      const { stdout } = await exec(join(BIN, name), args).catch((error: { stdout: string }) => error);
      return stdout;
    },
    standby: async () => {
      const copy = join(folder, `standby-${standbys.length}`);
      const args = [
        "-h",
        "127.0.0.1",
        "-p",
        String(port),
        "-U",
        "postgres",
        "-D",
        copy,
        "-R",
        "-c",
        "fast",
        "-N",
      ];
      await exec(join(BIN, "pg_basebackup"), args, { ...account, cwd: "/" });
      const own = await freePort(0);
      let running = await startServer(copy, own, account);
      const standby: Standby = {
        url: urlAt(own),
        kill: () => running.stop("SIGQUIT"),
        start: async () => {
          running = await startServer(copy, own, account);
        },
      };
      standbys.push(standby);
      return standby;
    },
    stop: async () => {
      for (const { kill } of standbys) await kill();
      await server.stop("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startServer(cluster: string, port: number, account: object) {
  const options = ["-h", "127.0.0.1", "-p", String(port), "-k", "", "-F"];
  const child = spawn(join(BIN, "postgres"), ["-D", cluster, ...options], {
    ...account,
    cwd: "/",
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  for (;;) {
    const isReady = await exec(join(BIN, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)]).then(
      () => true,
      () => false,
    );
    if (isReady) break;
    if (child.exitCode !== null) throw new Error("PostgreSQL 15 did not start");
    await pause(50);
  }
  return {
    stop: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      await ended;
    },
  };
}

async function nobody(): Promise<{ uid: number; gid: number }> {
  const { stdout } = await exec("id", ["-u", "nobody"]);
  const group = await exec("id", ["-g", "nobody"]);
  return { uid: Number(stdout), gid: Number(group.stdout) };
}
