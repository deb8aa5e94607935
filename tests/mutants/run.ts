import { parseArgs } from "node:util";
import { AREAS } from "./areas.ts";
import { type Area, type Mutant, mutantsOf } from "./change.ts";
import { openWorkplace, type Verdict, type Workplace } from "./workplace.ts";

const GOAL = 0.95;
const WORDS = {
  passed: "NOT NOTICED",
  failed: "noticed",
  late: "OUT OF TIME",
  broken: "DID NOT RUN",
} as const;
const LONGEST_CONTROL_MS = 600_000;
const LEAST_LIMIT_MS = 120_000;

/**
 * `npm run mutants` makes each change on purpose in a copy of the checkout, and runs the tests that must notice it.
 * `npm run mutants -- gate queue` takes these areas, `--sample 5` so many changes of each, `--part 2/4` the
 * second quarter of each. Ends with an error when fewer than 95 % are noticed, or when an unnamed change is not.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: "string" }, part: { type: "string" } },
});
const unknown = positionals.find((name) => !AREAS.some((area) => area.name === name));
if (unknown) {
  process.stderr.write(`No area ${unknown}. There are: ${AREAS.map(({ name }) => name).join(", ")}\n`);
  process.exit(2);
}
const areas = AREAS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const say = (line: string) => process.stdout.write(`${line}\n`);

const total = { made: 0, noticed: 0, named: 0 };
const survivors: Mutant[] = [];
const unjudged: string[] = [];
const workplace = await openWorkplace();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void workplace.close().finally(() => process.exit(1)));
}
try {
  for (const area of areas) await judge(workplace, area);
} finally {
  await workplace.close();
}
const rate = total.made === 0 ? 1 : total.noticed / total.made;
say(`${total.noticed} of ${total.made} noticed (${(rate * 100).toFixed(1)} %, goal ${GOAL * 100} %).`);
if (total.named > 0) say(`${total.named} more cannot be noticed, for the reasons above.`);
for (const { file, from, to } of survivors) say(`not noticed: ${file}: ${brief(from)} -> ${brief(to)}`);
if (unjudged.length > 0) say(`Not judged: ${unjudged.join(", ")}.`);
process.exit(rate >= GOAL && unjudged.length === 0 ? 0 : 1);

async function judge(place: Workplace, area: Area): Promise<void> {
  const { control, tookMs } = await controlled(place, area);
  if (control.outcome !== "passed") {
    unjudged.push(area.name);
    say(`${area.name}: NOT JUDGED, its tests fail without any change: ${control.by}`);
    return;
  }
  say(`${area.name}: its tests take ${Math.round(tookMs / 1_000)} s`);
  const limitMs = Math.max(LEAST_LIMIT_MS, 3 * tookMs);
  for (const mutant of chosen(mutantsOf(area))) {
    note(mutant, await place.changed(mutant, () => insistent(() => place.test(area.tests, limitMs))));
  }
}

/** The tests without a change. A busy machine may fail one once. */
async function controlled(place: Workplace, { tests }: Area) {
  for (let tries = 1; ; tries += 1) {
    const startedAt = performance.now();
    const control = await place.test(tests, LONGEST_CONTROL_MS);
    if (control.outcome === "passed" || tries === 2)
      return { control, tookMs: performance.now() - startedAt };
  }
}

/** Once more where the time ran out: another may have had the machine. */
async function insistent(run: () => Promise<Verdict>): Promise<Verdict> {
  const first = await run();
  return first.outcome === "late" ? run() : first;
}

function chosen(mutants: Mutant[]): Mutant[] {
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
  say(`  ${word.padEnd(12)} ${file}: ${brief(from)} -> ${brief(to)}${by && `  [${by.slice(0, 120)}]`}`);
}

function brief(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, 70) || "(nothing)";
}
