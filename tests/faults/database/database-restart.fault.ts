import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, seconds, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";
import { restartServer } from "../support/server.ts";

const HEALTHY_WITHIN = 3_000;
/** The request's own deadline is 5 s. */
const SLOWEST = 7_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report(
      "the database restarted under clients",
      await restarted({ clients: long ? 20 : 10, restarts: long ? 5 : 2 }),
    );
  }
};
export default fault;

/** Crashes the database under reading and writing clients. They may be told 503, and nothing else. */
async function restarted(extent: { clients: number; restarts: number }): Promise<Outcome> {
  const installation = await openInstallation();
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const statuses = new Map<number, number>();
    const broken: string[] = [];
    const acknowledged: string[] = [];
    let slowest = 0;
    let done = false;
    let lastTrouble = 0;
    const client = async (id: number) => {
      for (let n = 0; !done; n++) {
        const name = `${id}-${n}`;
        const startedAt = performance.now();
        const answer =
          n % 2 === 0
            ? await send(service, scenario.key, "POST", "/api/players", { body: { player_id: name } }).catch(
                said,
              )
            : await send(service, scenario.key, "GET", "/api/players?limit=5").catch(said);
        slowest = Math.max(slowest, performance.now() - startedAt);
        if (typeof answer === "string") broken.push(answer);
        else {
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
          if (answer.status === 201) acknowledged.push(name);
          if (answer.status >= 500) lastTrouble = performance.now();
        }
      }
    };
    const clients = Array.from({ length: extent.clients }, (_, id) => client(id));
    const healed: number[] = [];
    for (let restart = 0; restart < extent.restarts; restart++) {
      const before = acknowledged.length;
      await until("the load", 30_000, () => acknowledged.length > before + 100);
      await restartServer();
      const upAt = performance.now();
      const again = acknowledged.length;
      await until("health", 30_000, () => acknowledged.length > again + 100);
      healed.push(Math.max(0, lastTrouble - upAt));
    }
    done = true;
    await Promise.all(clients);
    const rows = await scenario.sql<{ player_id: string }[]>`
      select player_id from players where property_id = ${scenario.id}`;
    const kept = new Set(rows.map((row) => row.player_id));
    const others = [...statuses.keys()].filter((status) => ![200, 201, 503].includes(status));
    const worst = Math.max(...healed);
    return {
      about: `${[...statuses].map(([status, count]) => `${count} times ${status}`).join(", ")}; the last 503 ${seconds(worst)} after the start, the slowest answer ${seconds(slowest)}`,
      ledger: {
        lost: acknowledged.filter((name) => !kept.has(name)).length,
        doubled: rows.length - kept.size,
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`answers ${others.join(", ")}: ${service.output().slice(0, 2_000)}`]: others.length > 0,
        [`${broken.length} requests broke: ${[...new Set(broken)].join("; ")}`]: broken.length > 0,
        "nobody noticed the restart": !statuses.has(503),
        [`healthy after ${seconds(worst)}`]: worst > HEALTHY_WITHIN,
        [`an answer took ${seconds(slowest)}`]: slowest > SLOWEST,
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
  }
}

function said(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
