import { spawn } from "node:child_process";
import { once } from "node:events";
import { chown, copyFile, mkdtemp, readFile, readlink, rm, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { until } from "./fault.ts";

/** A PostgreSQL server on this machine, which may be killed and started again as it was. */
export interface Node {
  /** kill -9 of the postmaster. */
  kill(): Promise<void>;
  /** Resolves when it takes connections. */
  start(): Promise<void>;
  program: string;
  data: string;
  owner: { uid: number; gid: number };
}

/** Nothing of this process: the servers' user may not be able to read its home. */
const APART = { cwd: "/", env: { PATH: process.env.PATH, LANG: "C.UTF-8" } };

export async function nodeAt(url: string): Promise<Node> {
  const data = await ask(url, "select current_setting('data_directory') as value");
  const pid = await pidOf(data);
  const program = await readlink(`/proc/${pid}/exe`);
  const [, ...args] = (await readFile(`/proc/${pid}/cmdline`, "utf8"))
    .split("\0")
    .filter((part) => part !== "");
  const { uid, gid } = await stat(data);
  return nodeOf(url, { program, args, data, owner: { uid, gid } });
}

/** A new server like that one, with the same settings and an address of its own. */
export async function nodeLike(
  { program, data, owner }: Pick<Node, "program" | "data" | "owner">,
  near: string,
): Promise<Node & { url: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(dirname(dirname(data)), "added-"));
  await chown(folder, owner.uid, owner.gid);
  const own = join(folder, "data");
  const made = spawn(
    join(dirname(program), "initdb"),
    ["-D", own, "-U", new URL(near).username, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"],
    { ...owner, ...APART, stdio: "ignore" },
  );
  const [code] = await once(made, "exit");
  if (code !== 0) throw new Error(`initdb ended with ${code}`);
  await copyFile(join(data, "postgresql.conf"), join(own, "postgresql.conf"));
  const port = await freePort();
  const url = new URL(near);
  url.port = String(port);
  const node = nodeOf(url.href, { program, args: ["-D", own, "-p", String(port)], data: own, owner });
  await node.start();
  const remove = async () => {
    await node.kill();
    await rm(folder, { recursive: true, force: true });
  };
  return { ...node, url: url.href, remove };
}

function nodeOf(url: string, about: Omit<Node, "kill" | "start"> & { args: string[] }): Node {
  const { program, args, data, owner } = about;
  return {
    ...about,
    kill: async () => {
      const pid = await pidOf(data);
      process.kill(pid, "SIGKILL");
      await until("the server's end", 10_000, () => !isAlive(pid));
    },
    start: async () => {
      // Backends end a moment after their postmaster, and until then no other may use their memory.
      await until("the server's start", 60_000, async () => {
        const child = spawn(program, args, { ...owner, ...APART, detached: true, stdio: "ignore" });
        child.unref();
        while (child.exitCode === null && child.signalCode === null) {
          if (await ask(url, "select 1 as value").catch(() => null)) return true;
        }
        return false;
      });
    },
  };
}

async function pidOf(data: string): Promise<number> {
  const [pid] = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
  return Number(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function ask(url: string, question: string): Promise<string> {
  const server = new URL(url);
  server.pathname = "/postgres";
  const sql = postgres(server.href, { max: 1, onnotice: () => {}, connect_timeout: 2 });
  try {
    const [row] = await sql.unsafe<{ value: string }[]>(question);
    return row!.value;
  } finally {
    await sql.end();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
