import { setTimeout as pause } from "node:timers/promises";
import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf } from "../support/fault.ts";
import { openPair } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const LIMIT = 100;
/** Requests a second to each process, for so many seconds. */
const RATE = 60;
const SECONDS = 4;
/** The requests that one process may let pass while the other one uses up the budget: a twentieth of the rest. */
const UNTOLD = LIMIT / 20;

const fault: Fault = async (report, { rounds }) => {
  for (let round = 0; round < rounds; round++) report("two processes, one rate budget", await shared());
};
export default fault;

async function shared(): Promise<Outcome> {
  const pair = await openPair();
  const scenario = await openScenario(pair.url);
  try {
    const { secret } = await scenario.newKey(LIMIT);
    const windows = new Map<string, number>();
    const statuses = new Map<number, number>();
    const ask = async (process: number) => {
      const to = process === 0 ? pair.first : pair.second;
      const { status, headers } = await send(to, secret, "GET", "/api/players?limit=1");
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status !== 200) return;
      const window = headers.get("x-ratelimit-reset") ?? "";
      windows.set(window, (windows.get(window) ?? 0) + 1);
    };
    const asking: Promise<void>[] = [];
    for (let n = 0; n < RATE * SECONDS; n++) {
      asking.push(ask(0), ask(1));
      await pause(1_000 / RATE);
    }
    await Promise.all(asking);
    const most = Math.max(...windows.values());
    const others = [...statuses].filter(([status]) => status !== 200 && status !== 429);
    return {
      about: `${most} accepted of ${2 * RATE * SECONDS} where ${LIMIT} are allowed`,
      ledger: { lost: 0, doubled: 0, foreign: await scenario.foreign() },
      problems: problemsOf({
        [`${most} accepted, more than ${LIMIT + UNTOLD}`]: most > LIMIT + UNTOLD,
        "the budget was not used up": most < LIMIT,
        "nothing was refused": !statuses.has(429),
        [`other answers: ${others.map(([status]) => status).join(", ")}`]: others.length > 0,
      }),
    };
  } finally {
    await scenario.close();
    await pair.close();
  }
}
