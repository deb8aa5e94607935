import { programsIn } from "../support/checkout/programs.ts";
import { stopBenchServer } from "./support/database.ts";
import type { Figure, Report } from "./support/figure.ts";

/** Figures that are asked for by number, and the benchmark that has them. */
const FIGURES: Record<string, string> = {
  S1: "list",
  S2: "list",
  S3: "list",
  S4: "gate",
  S5: "revoked",
  S6: "pages",
  S7: "pages",
  S8: "exports",
  S9: "imports",
  S10: "queue",
  S11: "queue",
  S12: "compliance",
  S13: "campaigns",
  S14: "campaigns",
  S15: "smtp",
  S16: "webhooks",
  S17: "create",
  S18: "mcp",
  S19: "segments",
  S20: "start",
  S21: "journeys",
  S22: "journeys",
  S23: "journeys",
  S24: "journeys",
  S25: "journeys",
  S26: "games",
};
/** S27 is measured at two places: the console, and the pages that players see. */
const PAGES = ["console", "players-pages"];

/** `npm run bench` runs all benchmarks, `npm run bench -- list S8` those. One line a figure. */
const wanted = process.argv.slice(2).flatMap((name) => (name === "S27" ? PAGES : (FIGURES[name] ?? name)));
const benches = programsIn(import.meta.dirname, "bench");
const unknown = wanted.find((name) => !benches.has(name));
if (unknown) {
  const known = [...benches.keys(), ...Object.keys(FIGURES), "S27"].join(", ");
  process.stderr.write(`No benchmark ${unknown}. There are: ${known}\n`);
  process.exit(2);
}

let missed = 0;
const broken: string[] = [];
const line = (...cells: string[]) =>
  process.stdout.write(
    `${cells.map((cell, index) => (index === 0 ? cell.padEnd(58) : cell.padStart(12))).join(" ")}\n`,
  );

const report: Report = ({ name, ours, peer, ratio, goal, met, note }: Figure) => {
  if (!met) missed++;
  line(name, number(ours), number(peer), number(ratio), goal, met ? "met" : "MISSED");
  if (note) process.stdout.write(`  ${note}\n`);
};

line("figure", "ours", "peer", "ratio", "goal", "");
for (const [name, file] of benches) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const { default: bench } = (await import(file)) as {
    default: (report: Report) => Promise<void>;
  };
  await bench(report).catch((error: unknown) => {
    broken.push(name);
    process.stderr.write(`${name}: ${whyBroken(error)}\n`);
  });
}
await stopBenchServer();
process.stdout.write(`${missed === 0 ? "All goals met." : `${missed} goals missed.`}\n`);
if (broken.length > 0) process.stdout.write(`Not measured: ${broken.join(", ")}.\n`);
process.exit(missed + broken.length > 0 ? 1 : 0);

/** A peer that is a program of PostgreSQL may be missing: the embedded one brings none. */
function whyBroken(error: unknown): string {
  const { code, path } = error as { code?: unknown; path?: unknown };
  if (code === "ENOENT" && path === "psql")
    return "its peer needs psql, of PostgreSQL's client programs, in PATH";
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function number(value: number): string {
  return value >= 1000 ? Math.round(value).toString() : value.toPrecision(3);
}
