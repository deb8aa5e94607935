import { expect, test } from "vitest";
import { knownValues, nothingHas } from "#db/query/known-values.ts";

const rows = (count: number, looked: number) =>
  Array.from({ length: count }, (_, at): [string, number] => [`v${at}`, looked]);

test("values are all known where fewer than the most were found in fewer rows than are looked at", () => {
  expect(knownValues([])).toEqual({ values: [], complete: true });
  expect(knownValues(rows(30, 19_999))).toMatchObject({ complete: true });
  expect(knownValues(rows(30, 20_000))).toMatchObject({ complete: false });
  const many = knownValues(rows(31, 31));
  expect([many.values.length, many.complete]).toEqual([30, false]);
});

test("a warning claims that nothing has a value only where all rows were looked at", () => {
  expect(nothingHas("tier", "x", knownValues(rows(2, 2)))).toBe(
    'tier: nothing here has "x"; there are "v0", "v1".',
  );
  expect(nothingHas("tier", "x", knownValues([]))).toBe('tier: nothing here has "x"; none has a value.');
  expect(nothingHas("tier", "x", knownValues(rows(2, 20_000)))).toBe(
    'tier: nothing fits "x"; there are "v0", "v1", …',
  );
});
