import { expect, test } from "vitest";
import { faultsOf } from "../support/cluster/judge.ts";

const EXCEPTIONS = [{ file: "a.test.ts", tests: /^counts /, reason: "counted elsewhere" }];

const faults = (state: "passed" | "failed" | "skipped", { name = "counts rows", file = "a.test.ts" } = {}) =>
  faultsOf({ file, errors: [], tests: [{ name, state }] }, EXCEPTIONS);

test("a named exception has to fail on a cluster", () => {
  expect(faults("failed")).toEqual([]);
  expect(faults("skipped")).toEqual([]);
  expect(faults("passed")).toEqual(["a.test.ts > counts rows: is named as an exception, and passes"]);
});

test("no other test may fail on a cluster", () => {
  const file = "b.test.ts";
  expect(faults("passed", { file })).toEqual([]);
  expect(faults("failed", { file })).toEqual(["b.test.ts > counts rows: failed"]);
});

test("an exception without a test is reported", () => {
  const [fault] = faults("passed", { name: "adds rows" });
  expect(fault).toContain("there is no such test");
});

test("a failed hook is reported, also beside passed tests", () => {
  const broken = {
    file: "a.test.ts",
    errors: ["no database"],
    tests: [{ name: "counts rows", state: "failed" }],
  };
  expect(faultsOf(broken, EXCEPTIONS)).toEqual(["a.test.ts: no database"]);
});
