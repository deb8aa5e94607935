import { type Fault, type Outcome, percentile, problemsOf, until } from "../support/fault.ts";
import { openPair, type Pair } from "../support/installation.ts";
import {
  BEHIND_PROXY,
  cutListeners,
  LATEST,
  type Revocations,
  revocations,
  revoke,
  signIn,
  usesKey,
} from "../support/revocation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const CLIENTS = 50;

const fault: Fault = async (report, { rounds, long }) => {
  const trials = (long ? 100 : 50) * Math.max(1, Math.round(rounds / 10));
  const pair = await openPair(BEHIND_PROXY);
  const scenario = await openScenario(pair.url);
  try {
    const token = await signIn(pair, scenario);
    const judge = async (found: Revocations, more = "") => judged(found, await scenario.foreign(), more);
    report("a key revoked in another process", await judge(await revocations(pair, scenario, token, trials)));
    const cutting = cutListeners(pair.url);
    const found = await revocations(pair, scenario, token, trials);
    const cuts = await cutting.stop();
    report("the same while no listener stays connected", await judge(found, `; ${cuts} connections cut`));
    for (let round = 0; round < 5 * rounds; round++) {
      report(`a key revoked under ${CLIENTS} clients`, await underClients(pair, scenario, token));
    }
  } finally {
    await scenario.close();
    await pair.close();
  }
};
export default fault;

function judged({ delays, resurrected }: Revocations, foreign: number, more: string): Outcome {
  const p99 = percentile(delays, 99);
  const most = Math.max(...delays);
  return {
    about: `${delays.length} trials: last success starts ${percentile(delays, 50).toFixed(0)} ms (p50), ${p99.toFixed(0)} ms (p99), ${most.toFixed(0)} ms (most) after the revocation's answer${more}`,
    ledger: { lost: 0, doubled: 0, foreign },
    problems: problemsOf({
      [`accepted ${most.toFixed(0)} ms after the answer`]: most > LATEST,
      [`${resurrected} keys were accepted again after a refusal`]: resurrected > 0,
    }),
  };
}

/** Half of the clients in the process that revokes, where nothing that starts after the answer may succeed; half in the other. */
async function underClients({ first, second }: Pair, scenario: Scenario, token: string): Promise<Outcome> {
  const { secret, id } = await scenario.newKey(1_000_000);
  const good: { here: boolean; startedAt: number }[] = [];
  let refused = 0;
  let resurrected = 0;
  const client = async (here: boolean) => {
    const service = here ? first : second;
    for (let startedAt = performance.now(); await usesKey(service, secret); startedAt = performance.now()) {
      good.push({ here, startedAt });
    }
    refused++;
    if (await usesKey(service, secret)) resurrected++;
  };
  const clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index % 2 === 0)));
  await Promise.race([clients, until("the load", 30_000, () => good.length > 10 * CLIENTS)]);
  const accepted = refused === 0;
  await revoke(first, token, id);
  const revokedAt = performance.now();
  await Promise.race([clients, until("the refusals", 30_000, () => refused === CLIENTS)]);
  await clients;
  const late = good.filter(({ startedAt }) => startedAt > revokedAt);
  const latest = Math.max(0, ...late.map(({ startedAt }) => startedAt - revokedAt));
  const lateHere = late.filter(({ here }) => here).length;
  return {
    about: `${good.length} accepted; the last that the other process accepts starts ${latest.toFixed(0)} ms after the answer`,
    ledger: { lost: 0, doubled: 0, foreign: await scenario.foreign() },
    problems: problemsOf({
      "it was refused before it was revoked": !accepted,
      [`${lateHere} that began after the answer were accepted where it was given`]: lateHere > 0,
      [`accepted ${latest.toFixed(0)} ms after the answer`]: latest > LATEST,
      [`${resurrected} clients were accepted again after a refusal`]: resurrected > 0,
    }),
  };
}
