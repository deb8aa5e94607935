import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AREAS } from "./areas.ts";
import { mutantsOf } from "./change.ts";

const root = new URL("../../", import.meta.url);

test("every change on purpose has one place in the code, and there are at least 150", () => {
  const mutants = AREAS.flatMap(mutantsOf);
  const misplaced = mutants.flatMap(({ file, from }) => {
    const count = readFileSync(new URL(file, root), "utf8").split(from).length - 1;
    return count === 1 ? [] : [`${file}: ${count} times: ${from}`];
  });
  expect(misplaced).toEqual([]);
  expect(mutants.length).toBeGreaterThanOrEqual(150);
});

test("every test that must notice a change is there", () => {
  for (const { tests, first = {}, changes } of AREAS) {
    expect(tests.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
    const known = (path: string) => tests.some((test) => path === test || path.startsWith(`${test}/`));
    expect(Object.values(first).filter((path) => !known(path))).toEqual([]);
    expect(Object.keys(first).filter((file) => !(file in changes))).toEqual([]);
  }
});

test("a change that no test can notice is a change of its area", () => {
  for (const area of AREAS) {
    const known = new Set(mutantsOf(area).map(({ to }) => to));
    expect(Object.keys(area.unnoticeable ?? {}).filter((to) => !known.has(to))).toEqual([]);
  }
});
