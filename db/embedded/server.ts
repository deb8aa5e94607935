import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Account, runAs, SERVER_ENV } from "./folder.ts";

// SIGINT comes first: running statements end and the cache is written. The next signal ends the server at once: the
// next start recovers, and keeps all acknowledged writes.
const STOP_SIGNALS = [
  ["SIGINT", 60_000],
  ["SIGQUIT", 10_000],
  ["SIGKILL", 5_000],
] as const;

interface ServerPlan {
  postgres: string;
  cluster: string;
  account: Account;
  port: number;
  durable: boolean;
  logFile: string;
}

export interface Server {
  /** Resolves with the reason when the server has ended. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

/** Starts the server and waits until it accepts connections. @throws Error with the end of the server's log. */
export async function launch(plan: ServerPlan): Promise<Server> {
  const log = await open(plan.logFile, "a", 0o600);
  const child = spawn(plan.postgres, ["-D", plan.cluster, ...settings(plan)], {
    ...plan.account,
    cwd: "/",
    env: SERVER_ENV,
    // A process group of its own: Ctrl-C in the terminal must not end the server before the service.
    detached: true,
    windowsHide: true,
    stdio: ["ignore", log.fd, log.fd],
  });
  // A failed service must be able to exit; the next start stops the server that it left.
  child.unref();
  let end: string | undefined;
  const ended = ending(child).then((reason) => {
    end = reason;
    return reason;
  });
  await log.close();
  while (!(await isReady(plan.cluster, child.pid))) {
    if (end === undefined) await Promise.race([ended, pause(10)]);
    else throw new Error(`PostgreSQL did not start: ${end}.\n${await lastLines(plan.logFile)}`);
  }
  return { ended, stop: () => stopChild(child, ended) };
}

/** Ends the server that a killed service left running on this cluster, and the remains of a killed server. */
export async function stopLeftBehind(cluster: string, account: Account): Promise<boolean> {
  const pidFile = join(cluster, "postmaster.pid");
  const postmaster = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
  if (Number.isNaN(postmaster) || process.platform === "win32") return false;
  let found = false;
  for (const [signal, patience] of STOP_SIGNALS) {
    let pids = await serversOf(cluster, account);
    found ||= pids.length > 0;
    // Only a postmaster ends its backends gently, so backends without one get the next signal only.
    if (signal === "SIGINT") pids = pids.filter((pid) => pid === postmaster);
    for (const pid of pids) sendSignal(pid, signal);
    const deadline = performance.now() + patience;
    while (pids.length > 0 && performance.now() < deadline) {
      await pause(50);
      const alive = await serversOf(cluster, account);
      pids = pids.filter((pid) => alive.includes(pid));
    }
  }
  // PostgreSQL refuses to start while the file names a living process, even an unrelated one with a recycled pid.
  await rm(pidFile, { force: true });
  return found;
}

/** The wanted port if it is free; otherwise, and for 0, a port that the system chooses. */
export async function freePort(wanted: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(wanted, "127.0.0.1");
    await once(probe, "listening");
  } catch (error) {
    if (wanted === 0) throw error;
    return freePort(0);
  }
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

// Settings for a small machine. Errors of single statements stay out of the log: the client has them, and they would
// fill it with players' data.
function settings({ port, durable }: ServerPlan): string[] {
  const all = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    password_encryption: "scram-sha-256",
    max_connections: 200,
    shared_buffers: "256MB",
    huge_pages: "off",
    wal_level: "minimal",
    max_wal_senders: 0,
    max_wal_size: "2GB",
    checkpoint_timeout: "15min",
    random_page_cost: 1.1,
    jit: "off",
    track_io_timing: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_min_messages: "log",
    ...(durable ? {} : { fsync: "off", full_page_writes: "off", synchronous_commit: "off" }),
  };
  return Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

async function isReady(cluster: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  return lines[0] === String(pid) && lines[7]?.trim() === "ready";
}

async function serversOf(cluster: string, account: Account): Promise<number[]> {
  if (process.platform !== "linux") {
    const lines = (await runAs(account, "ps", ["-axwwo", "pid=,command="])).split("\n");
    return lines
      .filter((line) => line.includes(`postgres -D ${cluster} -c`))
      .map((line) => Number.parseInt(line, 10));
  }
  // The script runs as the account, because root in a container may not read another user's /proc/<pid>/cwd.
  const script = `for p in /proc/[0-9]*; do
    [ "$p/cwd" -ef "$1" ] && [ "$(cat "$p/comm")" = postgres ] && echo "\${p#/proc/}"; done; true`;
  const output = await runAs(account, "/bin/sh", ["-c", script, "sh", cluster]);
  return output.split("\n").filter(Boolean).map(Number);
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function ending(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
}

async function stopChild(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.ref();
  for (const [signal, patience] of STOP_SIGNALS) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await Promise.race([ended, pause(patience, undefined, { ref: false })]);
  }
}

async function lastLines(path: string): Promise<string> {
  return (await readFile(path, "utf8")).trimEnd().split("\n").slice(-15).join("\n");
}
