import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startEmbedded } from "#db/embedded/start.ts";
import { median, type Report } from "../support/figure.ts";
import { ROUNDS } from "../support/load.ts";

const MOST_SECONDS = 2;
const PATIENCE = 60_000;
const MAIN = fileURLToPath(new URL("../../../transports/main.ts", import.meta.url));

/** S20: from the start of the process to its first answer under /api, on a data folder that has been used. */
export default async function bench(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "marketing-start-"));
  try {
    await start(folder);
    const seconds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) seconds.push(await start(folder));
    const ours = median(seconds);
    report({
      name: "S20 start to the first answer, s / limit",
      ours,
      peer: MOST_SECONDS,
      ratio: ours / MOST_SECONDS,
      goal: `≤ ${MOST_SECONDS} s`,
      met: ours <= MOST_SECONDS,
    });
  } finally {
    // The server of a failed start is taken over, and ended.
    await (await startEmbedded({ dataDir: folder })).stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Starts the service, stops it in good order once it answers; the seconds that the answer took. */
async function start(folder: string): Promise<number> {
  const port = await freePort();
  const { DATABASE_URL: _, APP_SECRET: __, ...environment } = process.env;
  const startedAt = performance.now();
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...environment,
      DATA_DIR: folder,
      DEMO: "off",
      PORT: String(port),
      HOST: "127.0.0.1",
      LOG_LEVEL: "error",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "exit");
  const hasFailed = () => child.exitCode !== null || performance.now() - startedAt > PATIENCE;
  const answer = await firstAnswer(port, hasFailed);
  const seconds = (performance.now() - startedAt) / 1000;
  child.kill("SIGTERM");
  const [code] = await ended;
  if (answer !== 401) throw new Error(`the control moved: ${answer}, not 401: ${said}`);
  if (code !== 0) throw new Error(`the control moved: stopped with ${code}: ${said}`);
  return seconds;
}

/** The status of the first answer; null where the start has failed. */
async function firstAnswer(port: number, hasFailed: () => boolean): Promise<number | null> {
  while (!hasFailed()) {
    if (await listens(port)) {
      // Before it listens the service tries whether the port is free: who connects just then is reset.
      const answer = await fetch(`http://127.0.0.1:${port}/api/players`).catch(() => null);
      if (answer) return answer.status;
    }
    await pause(5);
  }
  return null;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
