import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import autocannon from "autocannon";
import { type Figure, median } from "./figure.ts";

/** A server in a process of its own. */
export interface Peer {
  url: string;
  /** Microseconds of CPU that it has used so far. */
  cpu(): Promise<number>;
  /** Bytes of memory that it holds. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

export interface Speed {
  perSecond: number;
  /** CPU microseconds of the server process a request; null where there is no server process of ours. */
  cpu: number | null;
}

const CONNECTIONS = 16;
export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
export const SECONDS = Number(process.env.BENCH_SECONDS ?? 4);

/** The options of Node with which `npm start` starts the service. */
const START_OPTIONS: string[] = JSON.parse(
  readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
).scripts.start.match(/--\S+/g);

/** Starts `peers/<name>.ts` with the options of `npm start`, and waits until it listens. */
export async function startPeer(name: string, environment: Record<string, string>): Promise<Peer> {
  const child = fork(new URL(`../peers/${name}.ts`, import.meta.url), {
    env: { ...process.env, NODE_ENV: "production", LOG_LEVEL: "error", ...environment },
    execArgv: START_OPTIONS,
  });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`the ${name} server has ended with ${code}`);
  });
  ended.catch(() => {});
  const message = async () => (await Promise.race([once(child, "message"), ended]))[0];
  const { port } = (await message()) as { port: number };
  const usage = async () => {
    child.send("usage");
    return (await message()) as { cpu: number; memory: number };
  };
  return {
    url: `http://127.0.0.1:${port}`,
    cpu: async () => (await usage()).cpu,
    memory: async () => (await usage()).memory,
    stop: async () => {
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** Requests of all connections for a few seconds. Throws when one of them was not answered as it must be. */
export async function load(
  peer: Peer,
  path: string,
  options: Partial<autocannon.Options> = {},
): Promise<Speed> {
  const before = await peer.cpu();
  const startedAt = performance.now();
  let answeredAt = startedAt;
  const { non2xx, errors, timeouts, requests } = await new Promise<autocannon.Result>((resolve, reject) => {
    const settings = { duration: SECONDS, ...options, url: peer.url + path, connections: CONNECTIONS };
    const running = autocannon(settings, (error, result) => (error ? reject(error) : resolve(result)));
    running.on("response", () => {
      answeredAt = performance.now();
    });
  });
  const used = (await peer.cpu()) - before;
  const wrong = non2xx + errors + timeouts;
  if (wrong > 0 || requests.total === 0) {
    throw new Error(`the control moved: ${wrong} of ${requests.total} requests to ${path} failed`);
  }
  // By the last answer: autocannon ends a counted run at its next full second, and counts the wait as work.
  return { perSecond: (requests.total * 1000) / (answeredAt - startedAt), cpu: used / requests.total };
}

/** Runs all of them in turn, some rounds; the first round only warms. */
export async function interleave<Name extends string>(
  runs: Record<Name, () => Promise<Speed>>,
): Promise<Record<Name, Speed>[]> {
  const rounds: Record<Name, Speed>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const speeds = {} as Record<Name, Speed>;
    for (const name of Object.keys(runs) as Name[]) speeds[name] = await runs[name]();
    if (round > 0) rounds.push(speeds);
  }
  return rounds;
}

/** Requests a second against a peer's: the median of the rounds' ratios. */
export function speedFigure<Name extends string>(
  name: string,
  rounds: Record<Name, Speed>[],
  [ours, peer]: [Name, Name],
  least: number,
): Figure {
  const rate = (of: Name) => median(rounds.map((round) => round[of].perSecond));
  const ratio = median(rounds.map((round) => round[ours].perSecond / round[peer].perSecond));
  const cpu = [ours, peer].map((of) => cpuOf(rounds, of)).filter((one) => one !== null);
  return {
    name: `${name} (CPU ${cpu.map((one) => Math.round(one)).join(" : ")} µs)`,
    ours: rate(ours),
    peer: rate(peer),
    ratio,
    goal: `≥ ${least}x`,
    met: ratio >= least,
  };
}

/** Median CPU microseconds a request. */
export function cpuOf<Name extends string>(rounds: Record<Name, Speed>[], of: Name): number | null {
  const known = rounds.map((round) => round[of].cpu).filter((one) => one !== null);
  return known.length > 0 ? median(known) : null;
}
