import { randomUUID } from "node:crypto";
import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats } from "../support/fault.ts";
import { openPair, type Pair } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const TIMES = 50;

const fault: Fault = async (report, { long }) => {
  const pair = await openPair();
  const scenario = await openScenario(pair.url);
  try {
    const keys = long ? 200 : 20;
    report(`the same Idempotency-Key ${TIMES} times at once`, await sameKey(pair, scenario, keys));
  } finally {
    await scenario.close();
    await pair.close();
  }
};
export default fault;

/** Each key at once in both processes: one execution, and each caller gets its answer or is told to come back. */
async function sameKey({ first, second }: Pair, scenario: Scenario, keys: number): Promise<Outcome> {
  const statuses = new Map<number, number>();
  const different: string[] = [];
  let executed = 0;
  const names = Array.from({ length: keys }, () => randomUUID());
  for (const name of names) {
    const answers = await Promise.all(
      Array.from({ length: TIMES }, (_, index) =>
        send(index % 2 === 0 ? first : second, scenario.key, "POST", "/api/players", {
          body: { first_name: name },
          headers: { "Idempotency-Key": name },
        }),
      ),
    );
    for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const done = answers.filter(({ status }) => status === 201);
    executed += done.filter(({ headers }) => !headers.has("idempotency-replayed")).length;
    if (new Set(done.map(({ body }) => body.id)).size !== 1) different.push(name);
  }
  const rows = await scenario.sql<{ first_name: string }[]>`
    select first_name from players where property_id = ${scenario.id}`;
  const kept = rows.map((row) => row.first_name);
  const others = [...statuses.keys()].filter((status) => status !== 201 && status !== 409);
  return {
    about: `${(executed / keys).toFixed(2)} executions a key of ${keys}; ${[...statuses].map(([status, count]) => `${count} times ${status}`).join(", ")}`,
    ledger: {
      lost: names.filter((name) => !kept.includes(name)).length,
      doubled: repeats(kept),
      foreign: await scenario.foreign(),
    },
    problems: problemsOf({
      [`${executed} executions of ${keys} keys`]: executed !== keys,
      [`${different.length} keys have more than one answer, or none`]: different.length > 0,
      [`other answers: ${others.join(", ")}`]: others.length > 0,
    }),
  };
}
