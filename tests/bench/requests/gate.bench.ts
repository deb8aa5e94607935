import type { Report } from "../support/figure.ts";
import { cpuOf, interleave, load, speedFigure, startPeer } from "../support/load.ts";
import { openProperty } from "../support/property.ts";

const MOST_CPU = 8;

/** S4: a route behind key, rate limit and headers, and nothing else, against a bare one. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty();
  const environment = { DATABASE_URL: bench.url, PROPERTY: bench.property };
  const [gate, hono] = await Promise.all([startPeer("gate", environment), startPeer("hono", environment)]);
  const headers = { "X-Api-Key": bench.key };
  try {
    const rounds = await interleave({
      gate: () => load(gate, "/api/nothing", { headers }),
      hono: () => load(hono, "/nothing", { headers }),
    });
    // The promise is about CPU time: the number of requests depends on the machine.
    report({ ...speedFigure("S4 gate alone / bare hono route", rounds, ["gate", "hono"], 0), goal: "none" });
    const [ours, peer] = [cpuOf(rounds, "gate")!, cpuOf(rounds, "hono")!];
    report({
      name: "S4 gate alone, CPU µs a request",
      ours,
      peer,
      ratio: ours / peer,
      goal: `≤ +${MOST_CPU} µs`,
      met: ours - peer <= MOST_CPU,
    });
  } finally {
    await Promise.all([gate.stop(), hono.stop()]);
    await bench.close();
  }
}
