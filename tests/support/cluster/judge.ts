import type { Reporter, TestModule } from "vitest/node";
import { EXCEPTIONS, type Exception } from "./exceptions.ts";

export interface TestedFile {
  file: string;
  /** Of hooks, and of the file itself. */
  errors: string[];
  tests: { name: string; state: string }[];
}

/**
 * Judges a run on a Citus cluster: each test that is named as an exception has to fail, so that none is named for
 * longer than it must be, and no other test may.
 */
export const clusterJudge: Reporter = {
  onTestRunEnd(modules, errors, reason) {
    if (reason === "interrupted") return;
    const faults = [
      ...errors.map(({ message }) => message),
      ...modules.flatMap((module) => faultsOf(testedIn(module), EXCEPTIONS)),
    ];
    const verdict = faults.length === 0 ? ["good but for the named exceptions"] : faults;
    process.stderr.write(["", "On the cluster:", ...verdict, ""].join("\n"));
    process.exitCode = faults.length === 0 ? 0 : 1;
  },
};

export function faultsOf({ file, errors, tests }: TestedFile, exceptions: readonly Exception[]): string[] {
  const named = exceptions.filter((one) => one.file === file);
  const isNamed = (name: string) => named.some((one) => one.tests.test(name));
  const passing = tests.filter(({ name, state }) => state === "passed" && isNamed(name));
  const failing = tests.filter(({ name, state }) => state === "failed" && !isNamed(name));
  const missing = named.filter((one) => !tests.some(({ name }) => one.tests.test(name)));
  return [
    ...errors.map((message) => `${file}: ${message}`),
    ...failing.map(({ name }) => `${file} > ${name}: failed`),
    ...passing.map(({ name }) => `${file} > ${name}: is named as an exception, and passes`),
    ...missing.map((one) => `${file} > ${one.tests}: is named as an exception, and there is no such test`),
  ];
}

function testedIn(module: TestModule): TestedFile {
  const parts = [module, ...module.children.allSuites()];
  return {
    file: module.relativeModuleId,
    errors: parts.flatMap((part) => part.errors()).map(({ message }) => message),
    tests: [...module.children.allTests()].map((test) => ({
      name: test.fullName,
      state: test.result().state,
    })),
  };
}
