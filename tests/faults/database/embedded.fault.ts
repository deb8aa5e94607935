import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds } from "../support/fault.ts";
import { type Installation, openEmbeddedInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const CLIENTS = 4;

const fault: Fault = async (report, { rounds }) => {
  const installation = await openEmbeddedInstallation();
  try {
    for (let round = 0; round < 3 * rounds; round++) {
      report("kill -9 beside an embedded database", await embeddedTakenOver(installation, { writes: 200 }));
    }
  } finally {
    await installation.close();
  }
};
export default fault;

/** Kills the service under writes, which leaves its database an orphan; the next start has all that was answered. */
export async function embeddedTakenOver(
  installation: Installation,
  { writes }: { writes: number },
): Promise<Outcome> {
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const acknowledged: string[] = [];
    const refused: number[] = [];
    let killing: Promise<void> | undefined;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; ; n++) {
        const name = `${client}-${n}`;
        const body = { player_id: name };
        const answer = await send(service, scenario.key, "POST", "/api/players", { body }).catch(() => null);
        if (answer?.status === 201) acknowledged.push(name);
        else if (answer) refused.push(answer.status);
        else return;
        if (acknowledged.length >= writes) killing ??= installation.kill();
      }
    });
    await Promise.all(clients);
    await killing;
    const killedAt = performance.now();
    const again = await installation.service();
    const took = performance.now() - killedAt;
    const rows = await scenario.sql<{ player_id: string }[]>`
      select player_id from players where property_id = ${scenario.id}`;
    const names = rows.map((row) => row.player_id);
    const kept = new Set(names);
    const alive = await send(again, scenario.key, "GET", "/api/players?limit=1");
    return {
      about: `${acknowledged.length} acknowledged, ${names.length} there, ready ${seconds(took)} after the kill`,
      ledger: {
        lost: acknowledged.filter((name) => !kept.has(name)).length,
        doubled: repeats(names),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`answers ${refused.join(", ")} to writes`]: refused.length > 0,
        [`${alive.status} after the start`]: alive.status !== 200,
        [`${names.length - acknowledged.length} rows without an answer, of ${CLIENTS} clients`]:
          names.length - acknowledged.length > CLIENTS,
      }),
    };
  } finally {
    await scenario.close();
  }
}
