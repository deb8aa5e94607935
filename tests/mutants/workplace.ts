import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { startEmbedded } from "#db/embedded/start.ts";
import { migrate } from "#db/migrate.ts";
import { withDatabase } from "../support/postgres/server-url.ts";
import { databaseFolder } from "../support/postgres/start.ts";
import type { Mutant } from "./change.ts";

export const root = fileURLToPath(new URL("../..", import.meta.url));
const LONGEST_TEST_MS = 60_000;
const TEMPLATE = "marketing_template";

/**
 * The end of a run of tests. A test that ran out of time has not noticed anything: a busy machine does the same to it.
 * Nor has a run in which no test failed, because the files cannot even be read.
 */
export interface Verdict {
  outcome: "passed" | "failed" | "late" | "broken";
  /** The first failing test, or what the run said instead. */
  by: string;
  /** That of the failing test. */
  file?: string;
  /** How the test failed. */
  words?: string;
  /** It was tried again at once, and failed with the same words. */
  twice?: boolean;
}

export type Lane = Awaited<ReturnType<typeof openLane>>;

/** A database server of its own, and copies of the checkout: changes never touch the files that people work on. */
export async function openWorkplace(lanes: number) {
  const folder = await mkdtemp(join(tmpdir(), "marketing-mutants-"));
  const dataDir = await mkdtemp(join(await databaseFolder(), "marketing-mutants-"));
  const server = await startEmbedded({ dataDir, durable: false });
  await prepareTemplate(server.url);
  const stop = new AbortController();
  const names = Array.from({ length: lanes }, (_, index) => join(folder, String(index)));
  return {
    lanes: await Promise.all(names.map((name) => openLane(name, server.url, stop.signal))),
    close: async () => {
      stop.abort();
      await server.stop();
      for (const made of [folder, dataDir]) await rm(made, { recursive: true, force: true });
    },
  };
}

/** Migrated once for all runs: no change on purpose is one of the schema. */
async function prepareTemplate(server: string): Promise<void> {
  const admin = postgres(server, { max: 1, onnotice: () => {} });
  await admin.unsafe(`create database ${TEMPLATE}`);
  await admin.end();
  await migrate(withDatabase(server, TEMPLATE));
}

/** One copy of the checkout, in which one change at a time is judged. */
async function openLane(folder: string, url: string, stop: AbortSignal) {
  const code = join(folder, "code");
  await copyCheckout(code);
  return {
    /** Runs files of tests on the copy as it is, or the one test `named` in them. */
    test: (files: readonly string[], limitMs: number, named?: string) =>
      runTests({ code, folder, url, stop }, { files, named }, limitMs),
    /** Runs `work` while the copy has the change. */
    changed: async <T>({ file, from, to }: Mutant, work: () => Promise<T>): Promise<T> => {
      const path = join(code, file);
      const before = await readFile(path, "utf8");
      if (before.split(from).length !== 2) throw new Error(`${file} has no longer one place of: ${from}`);
      await writeFile(
        path,
        before.replace(from, () => to),
      );
      try {
        return await work();
      } finally {
        await writeFile(path, before);
      }
    },
  };
}

async function copyCheckout(code: string): Promise<void> {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root });
  for (const file of listed.toString().split("\0").filter(Boolean)) {
    await mkdir(dirname(join(code, file)), { recursive: true });
    await cp(join(root, file), join(code, file), { verbatimSymlinks: true });
  }
  // One link a package: caches that a run writes beside the packages stay in the copy.
  await mkdir(join(code, "node_modules"));
  for (const name of await readdir(join(root, "node_modules"))) {
    if (name.startsWith(".") && name !== ".bin") continue;
    await symlink(join(root, "node_modules", name), join(code, "node_modules", name));
  }
}

interface Place {
  code: string;
  folder: string;
  url: string;
  stop: AbortSignal;
}

async function runTests(
  { code, folder, url, stop }: Place,
  tests: { files: readonly string[]; named: string | undefined },
  limitMs: number,
): Promise<Verdict> {
  const report = join(folder, "report.json");
  await rm(report, { force: true });
  const vitest = join(code, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--config", "tests/vitest.config.ts", "--bail", "1", "--reporter", "json"];
  // The whole run has a limit. A single test may be slow where others use the machine.
  args.push("--testTimeout", String(LONGEST_TEST_MS), "--retry", "1");
  if (tests.named !== undefined) args.push("--testNamePattern", patternOf(tests.named));
  const run = spawn(process.execPath, [...args, "--outputFile", report, ...tests.files], {
    cwd: code,
    env: { ...process.env, TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: TEMPLATE },
    // A group of its own: a run that hangs ends with all its processes.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  run.stderr.on("data", (text: Buffer) => {
    said = (said + text.toString()).slice(-2_000);
  });
  const kill = () => process.kill(-run.pid!, "SIGKILL");
  const timer = setTimeout(kill, limitMs);
  stop.addEventListener("abort", kill);
  const [status, signal] = (await once(run, "close")) as [number | null, NodeJS.Signals | null];
  clearTimeout(timer);
  stop.removeEventListener("abort", kill);
  if (signal !== null) {
    return { outcome: "late", by: `no end within ${Math.round(limitMs / 1_000)} s` };
  }
  const written = await readFile(report, "utf8").catch(() => null);
  const read = written === null ? null : (JSON.parse(written) as Report);
  const results = (read?.testResults ?? []).map((one) => ({ ...one, name: relative(code, one.name) }));
  if (status === 0) return { outcome: "passed", by: "" };
  return verdictOf({ testResults: results }) ?? brokenBy(said.trim().slice(-300));
}

/** Matches a test by its name in the report, which does not show where the names of its groups end. */
function patternOf(fullName: string): string {
  return `^${fullName.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "(?: >)? ")}$`;
}

export interface Report {
  testResults: {
    name: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

const OUT_OF_TIME = /^\w*Error: (Test|Hook) timed out in \d+ms/;

/** The verdict of a run that failed, or null where its report does not say why. */
export function verdictOf({ testResults }: Report): Verdict | null {
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(({ status }) => status === "failed").map((test) => ({ file: name, ...test })),
  );
  const judged = failed.find(
    ({ failureMessages }) => !failureMessages.every((text) => OUT_OF_TIME.test(text)),
  );
  const by = judged ?? failed[0];
  if (by) return { outcome: judged ? "failed" : "late", by: by.fullName, file: by.file, ...wordsOf(by) };
  const unread = testResults.find(({ message }) => message !== "");
  return unread ? brokenBy(unread.message.split("\n")[0]!) : null;
}

/** Each try leaves its failures. Their first lines tell one fault from another; a stack differs with its calls. */
function wordsOf({ failureMessages }: { failureMessages: string[] }): { words: string; twice: boolean } {
  const words = failureMessages.map((text) => text.split("\n")[0]!);
  const half = words.length / 2;
  return {
    words: words[0] ?? "",
    twice: half >= 1 && words.slice(0, half).join() === words.slice(half).join(),
  };
}

function brokenBy(said: string): Verdict {
  return { outcome: "broken", by: said };
}
