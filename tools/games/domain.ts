import type { Domain } from "#runtime/operation/catalog.ts";
import { keepPlayers } from "./activation/keep-players.ts";
import addPrizeCodes from "./add-prize-codes.ts";
import checkGamePlay from "./check-game-play.ts";
import claimGamePrize from "./claim-game-prize.ts";
import clearTaxForm from "./clear-tax-form.ts";
import codePools from "./code-pools.table.ts";
import enterGameFree from "./enter-game-free.ts";
import gameLaws from "./game-laws.table.ts";
import gamePlays from "./game-plays.table.ts";
import gamePrizes from "./game-prizes.table.ts";
import gameReport from "./game-report.ts";
import gameTickets from "./game-tickets.table.ts";
import gamesTable from "./games.table.ts";
import grantGameTickets from "./grant-game-tickets.ts";
import activateGame from "./lifecycle/activate-game.ts";
import archiveGame from "./lifecycle/archive-game.ts";
import endGame from "./lifecycle/end-game.ts";
import pauseGame from "./lifecycle/pause-game.ts";
import resumeGame from "./lifecycle/resume-game.ts";
import tendGame from "./lifecycle/tend-game.job.ts";
import playGame from "./play-game.ts";
import previewGame from "./preview-game.ts";
import redeemPrize from "./redeem-prize.ts";
import verifyGamePlay from "./verify-game-play.ts";
import voidGamePlay from "./void-game-play.ts";

/** The games in the table of contents. */
export const games: Domain = {
  name: "games",
  title: "Games",
  afterShaping: keepPlayers,
  tables: [codePools, gameLaws, gamePlays, gamePrizes, gameTickets, gamesTable],
  tools: [
    activateGame,
    addPrizeCodes,
    archiveGame,
    checkGamePlay,
    claimGamePrize,
    clearTaxForm,
    endGame,
    enterGameFree,
    gameReport,
    grantGameTickets,
    pauseGame,
    playGame,
    previewGame,
    redeemPrize,
    resumeGame,
    verifyGamePlay,
    voidGamePlay,
  ],
  jobs: [tendGame],
};
