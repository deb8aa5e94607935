import { expect, test } from "vitest";
import { isDay, isStorable, isUuid, storable } from "#db/text.ts";

test.each([
  ["2028-02-29", true],
  ["2027-02-29", false],
  ["1900-02-29", false],
  ["0004-02-29", true],
  ["0000-01-01", false],
  ["2027-13-01", false],
  ["2027-12-32", false],
  ["2027-1-1", false],
  [20270101, false],
  [null, false],
])("whether %j is a day of the calendar: %j", (value, expected) => {
  expect(isDay(value)).toBe(expected);
});

test("a uuid is one in either case, and nothing beside it", () => {
  const id = "0197C2AE-1b1f-7c5e-9d3f-2f6f1f0a9b7c";
  expect([id, id.toLowerCase()].every(isUuid)).toBe(true);
  expect([` ${id}`, `${id}\n`, id.replaceAll("-", ""), 7, undefined].some(isUuid)).toBe(false);
});

test("a text that PostgreSQL cannot store loses only those characters", () => {
  expect(isStorable("Zoë 🎰")).toBe(true);
  expect(["a\0b", "a\ud83c", "\udfb0a"].some(isStorable)).toBe(false);
  expect(storable("a\0b\ud83c")).toBe("ab\ufffd");
  expect(storable("ab🎰", 3)).toBe("ab\ufffd");
});
