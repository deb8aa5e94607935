import { send } from "./calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds } from "./fault.ts";
import { openEmbeddedPlace, type Place } from "./place.ts";
import { openWorld } from "./world.ts";

const CLIENTS = 4;

const fault: Fault = async (report, { rounds }) => {
  const place = await openEmbeddedPlace();
  try {
    for (let round = 0; round < 3 * rounds; round++) {
      report("kill -9 beside an embedded database", await embeddedTakenOver(place, { writes: 200 }));
    }
  } finally {
    await place.close();
  }
};
export default fault;

/** Kills the service under writes, which leaves its database an orphan; the next start has all that was answered. */
export async function embeddedTakenOver(place: Place, { writes }: { writes: number }): Promise<Outcome> {
  const service = await place.service();
  const world = await openWorld(place.url());
  try {
    const acknowledged: string[] = [];
    const refused: number[] = [];
    let killing: Promise<void> | undefined;
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; ; n++) {
        const name = `${client}-${n}`;
        const body = { player_id: name };
        const answer = await send(service, world.key, "POST", "/api/players", { body }).catch(() => null);
        if (answer?.status === 201) acknowledged.push(name);
        else if (answer) refused.push(answer.status);
        else return;
        if (acknowledged.length >= writes) killing ??= place.kill();
      }
    });
    await Promise.all(clients);
    await killing;
    const killedAt = performance.now();
    const again = await place.service();
    const took = performance.now() - killedAt;
    const rows = await world.sql<{ player_id: string }[]>`
      select player_id from players where property_id = ${world.id}`;
    const names = rows.map((row) => row.player_id);
    const kept = new Set(names);
    const alive = await send(again, world.key, "GET", "/api/players?limit=1");
    return {
      about: `${acknowledged.length} acknowledged, ${names.length} there, ready ${seconds(took)} after the kill`,
      ledger: {
        lost: acknowledged.filter((name) => !kept.has(name)).length,
        doubled: repeats(names),
        foreign: await world.foreign(),
      },
      problems: problemsOf({
        [`answers ${refused.join(", ")} to writes`]: refused.length > 0,
        [`${alive.status} after the start`]: alive.status !== 200,
        [`${names.length - acknowledged.length} rows without an answer, of ${CLIENTS} clients`]:
          names.length - acknowledged.length > CLIENTS,
      }),
    };
  } finally {
    await world.close();
  }
}
