import { globSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { AREAS } from "./areas.ts";
import { type Area, type Mutant, mutantsOf } from "./change.ts";
import { type Lane, openWorkplace, root, type Verdict } from "./workplace.ts";

const GOAL = 0.95;
const WORDS = {
  passed: "NOT NOTICED",
  failed: "noticed",
  late: "OUT OF TIME",
  broken: "DID NOT RUN",
} as const;
const LONGEST_RUN_MS = 600_000;

/**
 * `npm run mutants` makes each change on purpose in a copy of the checkout, and runs the tests that must notice it.
 * `npm run mutants -- gate queue` takes these areas, `--sample 5` so many changes of each, `--part 2/4` the
 * second quarter of each, `--only TEXT` those with this text, `--tests FILE` these tests alone, `--lanes 1` one at a
 * time. Ends with an error when fewer than 95 % are noticed, or when an unnamed change is not.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string" },
    part: { type: "string" },
    only: { type: "string", multiple: true, default: [""] },
    tests: { type: "string", multiple: true },
    lanes: { type: "string", default: "2" },
  },
});
const unknown = positionals.find((name) => !AREAS.some((area) => area.name === name));
if (unknown) {
  process.stderr.write(`No area ${unknown}. There are: ${AREAS.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}
const areas = AREAS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)).map(
  (area) => (values.tests ? { ...area, tests: values.tests } : area),
);
const say = (line: string) => process.stdout.write(`${line}\n`);

const total = { made: 0, noticed: 0, named: 0 };
const survivors: Mutant[] = [];
const unjudged: string[] = [];
const workplace = await openWorkplace(Number(values.lanes));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void workplace.close().finally(() => process.exit(1)));
}
try {
  for (const area of areas) await judge(workplace.lanes, area);
} finally {
  await workplace.close();
}
const rate = total.made === 0 ? 1 : total.noticed / total.made;
say(`${total.noticed} of ${total.made} noticed (${(rate * 100).toFixed(1)} %, goal ${GOAL * 100} %).`);
if (total.named > 0) say(`${total.named} more cannot be noticed, for the reasons above.`);
for (const { file, from, to } of survivors) say(`not noticed: ${file}: ${brief(from)} -> ${brief(to)}`);
if (unjudged.length > 0) say(`Not judged: ${unjudged.join(", ")}.`);
process.exit(rate >= GOAL && unjudged.length === 0 ? 0 : 1);

/** Each lane takes the next change when it has judged one. */
async function judge(lanes: readonly Lane[], area: Area): Promise<void> {
  const promising = promisingFirst(filesOf(area.tests), area.first);
  const next = chosen(mutantsOf(area)).values();
  const greens = new Map<string, Promise<boolean>>();
  say(`${area.name}:`);
  const work = async (lane: Lane) => {
    for (const mutant of next) {
      const verdict = await lane.changed(mutant, () => verdictOn(mutant, lane, promising));
      const { file } = verdict;
      if (file && !greens.has(file)) greens.set(file, isGreen(lane, file));
      if (file && !(await greens.get(file))) {
        unjudged.push(`${area.name} (${file} fails without any change)`);
        return;
      }
      note(mutant, verdict);
    }
  };
  await Promise.all(lanes.map(work));
}

function filesOf(tests: readonly string[]): string[] {
  const within = (path: string) => globSync(`${path}/**/*.test.ts`, { cwd: root }).toSorted();
  return tests.flatMap((path) => (path.endsWith(".ts") ? path : within(path)));
}

/** Without a change. Asked only of tests that fail with one: those that pass with it need no proof. */
async function isGreen(lane: Lane, file: string): Promise<boolean> {
  for (let tries = 1; tries <= 2; tries += 1) {
    if ((await lane.test([file], LONGEST_RUN_MS)).outcome === "passed") return true;
  }
  return false;
}

/** Runs the tests in parts, one after another, until one notices the change. */
async function verdictOn(mutant: Mutant, lane: Lane, promising: Promising): Promise<Verdict> {
  let verdict: Verdict = { outcome: "passed", by: "" };
  for (const files of promising.parts(mutant)) {
    const { outcome, by, file, words } = await insistent(() => confirmed(lane, files));
    if (outcome === "failed" && file) {
      promising.noticed(mutant, file);
      return { outcome, by: `${file}: ${by.slice(0, 80)}: ${words}`, file };
    }
    if (outcome === "broken") return { outcome, by };
    if (outcome !== "passed") verdict = { outcome: "late", by };
  }
  return verdict;
}

/**
 * A test that fails must fail again: at once with the same words, or by itself. On a busy machine one may fail without
 * any change, but hardly twice; then all run once more.
 */
async function confirmed(lane: Lane, files: readonly string[]): Promise<Verdict> {
  for (let tries = 1; ; tries += 1) {
    const verdict = await lane.test(files, LONGEST_RUN_MS);
    const { outcome, by, file, twice } = verdict;
    if (outcome !== "failed" || !file || twice) return verdict;
    const again = await lane.test([file], LONGEST_RUN_MS, by);
    if (again.outcome === "failed") return verdict;
    if (tries === 2) return { outcome: "late", by: `${file}: ${by} failed once, and not again` };
  }
}

type Promising = ReturnType<typeof promisingFirst>;

/**
 * The files of tests in parts: first, alone, the one that noticed the most changes of the same source file, then the
 * others that noticed one, then that of its name or named first, then those beside it, then the rest.
 */
function promisingFirst(files: readonly string[], first: Area["first"]) {
  const counts = new Map<string, number>();
  const key = ({ file }: Mutant, path: string) => `${file} ${path}`;
  return {
    noticed: (mutant: Mutant, path: string) =>
      counts.set(key(mutant, path), (counts.get(key(mutant, path)) ?? 0) + 1),
    parts: (mutant: Mutant): string[][] => {
      const count = (path: string) => counts.get(key(mutant, path)) ?? 0;
      const known = files.filter((path) => count(path) > 0).sort((a, b) => count(b) - count(a));
      const others = files.filter((path) => count(path) === 0);
      const own = first?.[mutant.file] ?? `tests/${mutant.file.replace(/(\.\w+)?\.ts$/, "")}.test.ts`;
      const isBeside = (path: string) => path !== own && dirname(path) === dirname(own);
      const parts = [
        known.slice(0, 1),
        known.slice(1),
        others.filter((path) => path === own),
        others.filter(isBeside),
        others.filter((path) => path !== own && !isBeside(path)),
      ];
      return parts.filter((part) => part.length > 0);
    },
  };
}

/** Once more where the time ran out: another may have had the machine. */
async function insistent<T extends Verdict>(run: () => Promise<T>): Promise<T> {
  const first = await run();
  return first.outcome === "late" ? run() : first;
}

function chosen(all: Mutant[]): Mutant[] {
  const mutants = all.filter(({ from, to }) => values.only.some((text) => `${from}\n${to}`.includes(text)));
  if (values.part !== undefined) {
    const [part = 1, parts = 1] = values.part.split("/").map(Number);
    return mutants.filter((_, index) => index % parts === part - 1);
  }
  if (values.sample === undefined) return mutants;
  const step = Math.max(1, mutants.length / Number(values.sample));
  return mutants.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
}

function note(mutant: Mutant, { outcome, by }: Verdict): void {
  const isNoticed = outcome === "failed";
  const { file, from, to, reason } = mutant;
  if (reason !== undefined && !isNoticed) total.named += 1;
  else {
    total.made += 1;
    total.noticed += isNoticed ? 1 : 0;
    if (!isNoticed) survivors.push(mutant);
  }
  const word = isNoticed || reason === undefined ? WORDS[outcome] : `cannot be noticed: ${reason}`;
  say(`  ${word.padEnd(12)} ${file}: ${brief(from)} -> ${brief(to)}${by && `  [${by.slice(0, 280)}]`}`);
}

function brief(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 70) || "(nothing)";
}
