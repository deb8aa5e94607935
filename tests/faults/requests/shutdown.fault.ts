import { Pool } from "undici";
import { type Fault, type Outcome, problemsOf, seconds, until } from "../support/fault.ts";
import { openPair } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const CLIENTS = 10;
const WARM = 300;

const fault: Fault = async (report, { rounds }) => {
  for (let round = 0; round < 3 * rounds; round++)
    report("SIGTERM of one of two under load", await stopped());
};
export default fault;

/**
 * Clients on kept connections, in turn to both processes, half of them writing. These count as failed: any answer
 * but 200 and 201, and any connection that ends under a request, whether or not the service had read it. Not
 * failed is a new connection that is refused: nothing was sent on it, and a balancer takes the other process.
 */
async function stopped(): Promise<Outcome> {
  const pair = await openPair();
  const scenario = await openScenario(pair.url);
  const pools = [pair.first, pair.second].map(({ baseUrl }) => new Pool(baseUrl, { connections: CLIENTS }));
  try {
    let turn = 0;
    let done = false;
    let answered = 0;
    let elsewhere = 0;
    const failures: string[] = [];
    const created: string[] = [];
    const ask = async (pool: Pool, name: string | null): Promise<void> => {
      const { statusCode, body } = await pool.request({
        path: name === null ? "/api/players?limit=5" : "/api/players",
        method: name === null ? "GET" : "POST",
        headers: { "x-api-key": scenario.key, "content-type": "application/json" },
        body: name === null ? null : JSON.stringify({ player_id: name }),
      });
      const text = await body.text();
      answered++;
      if (statusCode === 201 && name !== null) created.push(name);
      else if (statusCode !== 200) failures.push(`${statusCode} ${text}`);
    };
    const client = async (id: number) => {
      for (let n = 0; !done; n++) {
        const name = n % 2 === 0 ? `${id}-${n}` : null;
        const which = turn++ % 2;
        await ask(pools[which]!, name).catch(async (error: NodeJS.ErrnoException) => {
          if (error.code !== "ECONNREFUSED") return void failures.push(`${error.code} ${error.message}`);
          elsewhere++;
          await ask(pools[1 - which]!, name);
        });
      }
    };
    const clients = Array.from({ length: CLIENTS }, (_, id) => client(id));
    await until("the load", 60_000, () => answered >= WARM);
    const startedAt = performance.now();
    const code = await pair.first.terminate();
    const took = performance.now() - startedAt;
    const sofar = answered;
    await until("the load on the other", 60_000, () => answered >= sofar + WARM);
    done = true;
    await Promise.all(clients);
    const [kept] = await scenario.sql<{ rows: number; names: number }[]>`
      select count(*)::int as rows, count(distinct player_id)::int as names from players
      where property_id = ${scenario.id}`;
    return {
      about: `${answered} answered, ${elsewhere} taken to the other, stopped in ${seconds(took)}`,
      ledger: {
        lost: Math.max(0, created.length - kept!.names),
        doubled: kept!.rows - kept!.names,
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`${failures.length} failed: ${[...new Set(failures)].join("; ")}`]: failures.length > 0,
        [`it ended with ${code}`]: code !== 0,
        [`stopping took ${seconds(took)}`]: took > 15_000,
      }),
    };
  } finally {
    await Promise.all(pools.map((pool) => pool.destroy()));
    await scenario.close();
    await pair.close();
  }
}
