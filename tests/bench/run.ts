import { readdir } from "node:fs/promises";
import { stopBenchServer } from "./database.ts";
import type { Figure, Report } from "./figure.ts";

/** `npm run bench` runs all benchmarks, `npm run bench -- list gate` those. One line a figure. */
const wanted = process.argv.slice(2);
const files = (await readdir(new URL(".", import.meta.url)))
  .filter((file) => file.endsWith(".bench.ts"))
  .sort();
const names = files.map((file) => file.replace(".bench.ts", ""));
const unknown = wanted.find((name) => !names.includes(name));
if (unknown) {
  process.stderr.write(`No benchmark ${unknown}. There are: ${names.join(", ")}\n`);
  process.exit(2);
}

let missed = 0;
const line = (...cells: string[]) =>
  process.stdout.write(
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(58) : cell.padStart(12))).join(" ")}\n`,
  );

const report: Report = ({ name, ours, peer, ratio, goal, met }: Figure) => {
  if (!met) missed++;
  line(name, number(ours), number(peer), number(ratio), goal, met ? "met" : "MISSED");
};

line("figure", "ours", "peer", "ratio", "goal", "");
for (const name of names.filter((one) => wanted.length === 0 || wanted.includes(one))) {
  const { default: bench } = (await import(`./${name}.bench.ts`)) as {
    default: (report: Report) => Promise<void>;
  };
  await bench(report);
}
await stopBenchServer();
process.stdout.write(`${missed === 0 ? "All goals met." : `${missed} goals missed.`}\n`);
process.exit(0);

function number(value: number): string {
  return value >= 1000 ? Math.round(value).toString() : value.toPrecision(3);
}
