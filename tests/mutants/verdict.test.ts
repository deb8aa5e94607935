import { expect, test } from "vitest";
import { type Report, verdictOf } from "./workplace.ts";

const failing = (fullName: string, ...failureMessages: string[]) => ({
  status: "failed",
  fullName,
  failureMessages,
});
const reported = (message: string, ...assertionResults: ReturnType<typeof failing>[]): Report => ({
  testResults: [{ name: "a.test.ts", message, assertionResults }],
});

test("a change is noticed by a test that is refuted, and not by one that runs out of time", () => {
  const late = failing(
    "waits",
    "TestTimeoutError: Test timed out in 30000ms.\nIf this is a long-running test, …",
  );
  const refuted = failing("compares", "AssertionError: expected 1 to be 2");
  expect(verdictOf(reported("", late))).toMatchObject({ outcome: "late", by: "waits" });
  expect(verdictOf(reported("", late, refuted))).toEqual({
    outcome: "failed",
    by: "compares",
    file: "a.test.ts",
    words: "AssertionError: expected 1 to be 2",
    twice: false,
  });
  const atFirst = failing("sets up", "Error: Hook timed out in 30000ms.");
  expect(verdictOf(reported("", atFirst))).toMatchObject({ outcome: "late", by: "sets up" });
});

test("a test that is tried again and fails with the same words has failed twice", () => {
  const one = "AssertionError: expected 1 to be 2\n    at a.test.ts:1:1";
  const other = "AssertionError: expected 1 to be 2\n    at a.test.ts:2:2";
  expect(verdictOf(reported("", failing("compares", one, other)))).toMatchObject({ twice: true });
  const different = "AssertionError: expected 3 to be 2";
  expect(verdictOf(reported("", failing("compares", one, different)))).toMatchObject({ twice: false });
  expect(verdictOf(reported("", failing("compares", one, different, one)))).toMatchObject({ twice: false });
});

test("a change with which a file of tests cannot be read is not noticed by a test", () => {
  expect(verdictOf(reported("SyntaxError: Unexpected token\n  at …"))).toEqual({
    outcome: "broken",
    by: "SyntaxError: Unexpected token",
  });
  expect(verdictOf(reported(""))).toBeNull();
});
