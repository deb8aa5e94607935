import { expect, test } from "vitest";
import { counted } from "#runtime/counted.ts";

test("a count agrees with its noun and its verb", () => {
  expect([0, 1, 2, 1_200].map((count) => counted(count, "player"))).toEqual([
    "0 players",
    "1 player",
    "2 players",
    "1200 players",
  ]);
  expect([1, 2].map((count) => counted(count, "player enters", "players enter"))).toEqual([
    "1 player enters",
    "2 players enter",
  ]);
});
