import { expect, test } from "vitest";
import { type Report, verdictOf } from "./workplace.ts";

const failing = (fullName: string, ...failureMessages: string[]) => ({
  status: "failed",
  fullName,
  failureMessages,
});
const reported = (message: string, ...assertionResults: ReturnType<typeof failing>[]): Report => ({
  testResults: [{ name: "a.test.ts", startTime: 0, endTime: 1, message, assertionResults }],
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
  });
  const atFirst = failing("sets up", "Error: Hook timed out in 30000ms.");
  expect(verdictOf(reported("", atFirst))).toMatchObject({ outcome: "late", by: "sets up" });
});

test("a change with which a file of tests cannot be read is not noticed by a test", () => {
  expect(verdictOf(reported("SyntaxError: Unexpected token\n  at …"))).toEqual({
    outcome: "broken",
    by: "SyntaxError: Unexpected token",
  });
  expect(verdictOf(reported(""))).toBeNull();
});
