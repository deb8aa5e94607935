import { expect, test } from "vitest";
import { Fault, type FaultCode } from "#runtime/faults.ts";
import { CATALOG } from "#tools/catalog.ts";
import { errorResult, failureOf } from "#transports/mcp/answers/errors.ts";

test("each failure that an operation names comes with a suggestion", () => {
  const codes = new Set(
    [...CATALOG.operations.values()].flatMap(({ faults }): readonly FaultCode[] => faults),
  );
  const bare = [...codes].filter((code) => {
    const result = errorResult(failureOf(new Fault(code)), "r1", { reach: new Map() });
    return !(result.structuredContent as { suggestion?: string }).suggestion;
  });
  expect(bare).toEqual([]);
  expect(codes).toContain("game_not_active");
});
