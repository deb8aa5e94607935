import { percentile } from "../../faults/support/fault.ts";
import { openPair } from "../../faults/support/installation.ts";
import { BEHIND_PROXY, cutListeners, LATEST, revocations, signIn } from "../../faults/support/revocation.ts";
import { openScenario } from "../../faults/support/scenario.ts";
import { stopServer } from "../../faults/support/server.ts";
import type { Report } from "../support/figure.ts";

const TRIALS = 200;
const MOST_MS = 50;

/** S5: how long a key that one process has revoked is still accepted by another, and how long without its listener. */
export default async function bench(report: Report): Promise<void> {
  const pair = await openPair(BEHIND_PROXY);
  const scenario = await openScenario(pair.url);
  const limit = (name: string, ours: number, peer: number) =>
    report({ name, ours, peer, ratio: ours / peer, goal: `≤ ${peer} ms`, met: ours <= peer });
  try {
    const token = await signIn(pair, scenario);
    const heard = await revocations(pair, scenario, token, TRIALS);
    limit("S5 revoked key accepted elsewhere, p99 ms / limit", percentile(heard.delays, 99), MOST_MS);
    const cutting = cutListeners(pair.url);
    const unheard = await revocations(pair, scenario, token, TRIALS / 2);
    const cuts = await cutting.stop();
    if (cuts === 0) throw new Error("the control moved: no listener was cut");
    limit("S5 the same with the listener cut, most ms / limit", Math.max(...unheard.delays), LATEST);
    if (heard.resurrected + unheard.resurrected > 0) {
      throw new Error("the control moved: a revoked key was accepted after it had been refused");
    }
  } finally {
    await scenario.close();
    await pair.close();
    await stopServer();
  }
}
