import { expect, test } from "vitest";
import { didYouMean, nearest } from "#db/nearest.ts";
import { CATALOG } from "#tools/catalog.ts";

test.each([
  ["list_playrs", "list_players"],
  ["send_campain", "send_campaign"],
  ["create_segmnt", "create_segment"],
  ["send-campaign", "send_campaign"],
  ["delete_players", "delete_player"],
  ["CREATE_PLAYER", "create_player"],
  ["preflight_campagin", "preflight_campaign"],
])("%s is most of all %s", (word, meant) => {
  expect(nearest(word, CATALOG.operations.keys())[0]).toBe(meant);
});

test("a word far from all others has no near one", () => {
  expect(nearest("start_a_journey_now", CATALOG.operations.keys())).toEqual([]);
  expect(didYouMean("xyz", ["email", "phone"])).toBe("");
  expect(didYouMean("emial", ["email", "phone"])).toBe("; did you mean email?");
  expect(didYouMean("last_visit", ["last_visit_at", "adt"])).toBe("; did you mean last_visit_at?");
});
