import { expect, test } from "vitest";
import { proposedQuestions } from "#runtime/funnel/review.ts";
import { changeWords, fieldWords } from "#runtime/operation/record-words.ts";
import { quoted } from "#runtime/visible-text.ts";

test("a record's words name each field, and say where a value goes on", () => {
  const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`field_${index}`, index]));
  expect(fieldWords(many)).toMatch(/^field_0 0, .*, field_11 11, and also field_12, field_13$/);
  const long = "x".repeat(1_500);
  expect(fieldWords({ note: long, undefined })).toBe(`note "${"x".repeat(300)}" and 1,200 more characters`);
  expect(fieldWords({ tags: [long] })).toMatch(/^tags \["x+…$/);
  expect(changeWords({ note: "short" } as never, { note: long })).toContain("and 1,200 more characters");
});

test("a quoted text has no line break of its own, and no half of a character", () => {
  expect(quoted("a\nb\u2028c")).toBe('"a\\nb c"');
  expect(quoted("😀😀", 3)).toBe('"😀�" and 1 more characters');
});

test("a quoted text says where it would turn the letters behind it around", async () => {
  expect(quoted("Get \u202e15")).toBe('"Get [turned around:] 15"');
  expect(fieldWords({ name: "\u202e15", inbox: ["\u202d15"] })).toBe(
    'name "[turned around:] 15", inbox ["[turned around:] 15"]',
  );
  const sentences = () => ["The list \u202e goes to 15."];
  const { sentences: shown } = await proposedQuestions([{ state: "x", sentences }]);
  expect(shown).toEqual(["The list [turned around:]  goes to 15."]);
});

test("a sentence of a question is one line, with every text in it", async () => {
  const sentences = () => ["It goes to 2 players.\nIt goes to nobody.\u2028It is free."];
  const { sentences: shown } = await proposedQuestions([{ state: "x", sentences }]);
  expect(shown).toEqual(["It goes to 2 players. It goes to nobody. It is free."]);
});
