import type { Domain } from "#runtime/operation/catalog.ts";
import showGamePlay from "./show-game-play.ts";
import showGames from "./show-games.ts";
import tellWinner from "./tell-winner.job.ts";

export const gamePages: Domain = {
  name: "game_pages",
  title: "Games' pages",
  tools: [showGamePlay, showGames],
  jobs: [tellWinner],
};
