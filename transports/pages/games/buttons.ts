import type { ShownGame } from "#tools/game-pages/game-view.ts";
import type { Word } from "#transports/pages/words/en.ts";

/** The button of a game before its play, and after one. */
export const BUTTONS: Readonly<Record<ShownGame["type"], { first: Word; again: Word }>> = {
  spin_wheel: { first: "spin", again: "spin_again" },
  scratch_card: { first: "scratch", again: "scratch_again" },
  mystery_box: { first: "open_box", again: "open_box_again" },
  instant_win: { first: "play_now", again: "play_again" },
};
