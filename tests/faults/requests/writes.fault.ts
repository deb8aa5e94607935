import { randomUUID } from "node:crypto";
import { type Answer, must, send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, until } from "../support/fault.ts";
import { type Installation, openInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const CLIENTS = 10;

const fault: Fault = async (report, { rounds, long }) => {
  const installation = await openInstallation();
  try {
    for (let round = 0; round < (long ? Math.max(rounds, 50) : 5 * rounds); round++) {
      const at = 0.1 + 0.8 * Math.random();
      report("kill -9 in keyed writes", await killedWrites(installation, { writes: 200, at }));
    }
  } finally {
    await installation.close();
  }
};
export default fault;

/** Creates players, each with its key, kills the service when that share is answered, and retries every key. */
export async function killedWrites(
  installation: Installation,
  { writes, at }: { writes: number; at: number },
): Promise<Outcome> {
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const keys = Array.from({ length: writes }, () => randomUUID());
    const first = new Map<string, Answer>();
    // Without a player_id, nothing but the key tells one from another.
    const write = (to: typeof service, key: string) =>
      send(to, scenario.key, "POST", "/api/players", {
        body: { first_name: key },
        headers: { "Idempotency-Key": key },
      });
    const waiting = [...keys];
    const clients = Array.from({ length: CLIENTS }, async () => {
      for (let key = waiting.shift(); key; key = waiting.shift()) {
        const answer = await write(service, key).catch(() => null);
        if (answer) first.set(key, answer);
      }
    });
    await until("the writes' progress", 30_000, () => first.size >= writes * at);
    await installation.kill();
    await Promise.all(clients);
    const again = await installation.service();
    const retried = new Map<string, Answer>();
    for (const key of keys) retried.set(key, await write(again, key));
    const rows = await scenario.sql<{ first_name: string; id: string }[]>`
      select first_name, id from players where property_id = ${scenario.id}`;
    const different = [...first].filter(([key, { body }]) => retried.get(key)?.body?.id !== body.id).length;
    const replayed = [...first.keys()].filter((key) => retried.get(key)?.headers.get("idempotency-replayed"));
    const list = await must(again, scenario.key, "GET", "/api/players?limit=1000");
    return {
      about: `${first.size} of ${writes} answered before the kill, ${rows.length} players after all retries`,
      ledger: {
        lost: keys.filter((key) => !rows.some((row) => row.first_name === key)).length,
        doubled: rows.length - new Set(rows.map((row) => row.first_name)).size,
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        "it was over before it was killed": first.size === writes,
        "a first answer was no success": [...first.values()].some(({ status }) => status !== 201),
        "a retry was no success": [...retried.values()].some(({ status }) => status !== 201),
        [`${different} retries have another answer than the first`]: different > 0,
        [`${first.size - replayed.length} answered keys were not replayed`]: replayed.length !== first.size,
        "the list disagrees": list.body.length !== rows.length,
      }),
    };
  } finally {
    await scenario.close();
  }
}
