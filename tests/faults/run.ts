import { programsIn } from "../support/checkout/programs.ts";
import type { Fault, Report } from "./support/fault.ts";
import { stopServer } from "./support/server.ts";

/**
 * `npm run faults` runs all faults against real processes, `npm run faults -- campaign import` those. One line
 * a fault. FAULT_ROUNDS=20 repeats each so often, in the sizes that are promised.
 */
const wanted = process.argv.slice(2);
const faults = programsIn(import.meta.dirname, "fault");
const unknown = wanted.find((name) => !faults.has(name));
if (unknown) {
  process.stderr.write(`No fault ${unknown}. There are: ${[...faults.keys()].join(", ")}\n`);
  process.exit(2);
}
const extent = {
  rounds: Number(process.env.FAULT_ROUNDS ?? 1),
  long: process.env.FAULT_ROUNDS !== undefined,
};

let bad = 0;
const report: Report = (name, { ledger, problems, about }) => {
  const { lost, doubled, foreign } = ledger;
  const good = lost === 0 && doubled === 0 && foreign === 0 && problems.length === 0;
  if (!good) bad++;
  const verdict = [good ? "good" : "BAD", `lost ${lost}`, `doubled ${doubled}`, `foreign ${foreign}`].join(
    "  ",
  );
  process.stdout.write(`${name.padEnd(46)} ${verdict}  ${about}\n`);
  for (const problem of problems) process.stdout.write(`    ${problem}\n`);
};

try {
  for (const [name, file] of faults) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const { default: fault } = (await import(file)) as { default: Fault };
    await fault(report, extent).catch((error: unknown) => {
      const said = error instanceof Error ? (error.stack ?? error.message) : String(error);
      report(name, { ledger: { lost: 0, doubled: 0, foreign: 0 }, problems: [said], about: "broke off" });
    });
  }
} finally {
  await stopServer();
}
process.stdout.write(`${bad === 0 ? "Nothing lost, nothing doubled, nothing foreign." : `${bad} BAD.`}\n`);
process.exit(bad === 0 ? 0 : 1);
