import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { workersOf } from "./support/cluster/citus.ts";
import { clusterJudge } from "./support/cluster/judge.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

// As the programs do: types are stripped and modules compiled once, and not by every process.
process.env.NODE_COMPILE_CACHE ??= `${root}node_modules/.cache/compile`;

/** Files that look at what their process keeps prepared or runs, or that need it to know no certificate yet. */
const FRESH = [
  "tests/db/sql.test.ts",
  "tests/contract/files-read.test.ts",
  "tests/runtime/channels/callbacks.test.ts",
];

/** And those that break connections by msw: where it has listened before in the same process, it breaks none. */
const ALONE = globSync("tests/**/*.test.ts", { cwd: root }).filter(
  (file) => FRESH.includes(file) || readFileSync(`${root}${file}`, "utf8").includes("HttpResponse.error()"),
);

/** Tests that start clusters and services: up to a minute a file, and more than one processor. */
const LONG = ["tests/faults/", "tests/db/embedded/", "tests/db/backup/", "tests/transports/start/"];
const SHORT_BETWEEN = 10;

const given = process.env.TEST_DATABASE_URL;
const isCluster = given !== undefined && (await workersOf(given)).length > 0;

/**
 * How long a test or a hook may take: it ends what hangs, and judges no speed. Beside three others on two processors
 * whose speed changes by a factor of five, a test of 6 s took over 30. On a Citus cluster the demo alone can take 30 s.
 */
const PATIENCE = isCluster ? 120_000 : 90_000;

/** One long file at a time, and none at the end, when a processor would be idle beside it. */
class LongApart extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG.some((folder) => moduleId.startsWith(`${root}${folder}`));
    const short = sorted.filter((file) => !isLong(file));
    const mixed = sorted.filter(isLong).flatMap((file) => [file, ...short.splice(0, SHORT_BETWEEN)]);
    return [...mixed, ...short];
  }
}

/** Files share processes: to read all modules again for each of them was half of the run's work. */
const PROJECTS = [
  { name: "together", include: ["tests/**/*.test.ts"], exclude: ALONE, isolate: false },
  { name: "alone", include: ALONE, isolate: true },
];

export default defineConfig({
  root,
  test: {
    // Once for all projects: a project that extends this configuration would start a server of its own.
    globalSetup: ["tests/support/postgres/start.ts"],
    // For two processors: while two wait for the database or a clock, two work.
    maxWorkers: 4,
    sequence: { sequencer: LongApart },
    ...(isCluster && { reporters: ["default", clusterJudge] }),
    // The run ends by judging its statements. A busy machine takes longer than 10 s, and vitest would leave it green.
    teardownTimeout: 120_000,
    // Node reads TypeScript by itself, as it does where the service runs.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    projects: PROJECTS.map(
      (project): TestProjectInlineConfiguration => ({
        root,
        test: {
          ...project,
          pool: "forks",
          // Files that share a process make much garbage beside much that stays.
          execArgv: ["--max-semi-space-size=64"],
          // A test that needs more has its own, with the reason.
          testTimeout: PATIENCE,
          hookTimeout: PATIENCE,
          expect: { poll: { timeout: 60_000 } },
        },
      }),
    ),
  },
});
