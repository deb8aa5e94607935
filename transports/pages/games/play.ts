import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { noSuch, toFault } from "#runtime/faults.ts";
import type { GamePlay } from "#tools/game-pages/show-game-play.ts";
import type { Place } from "#tools/game-pages/show-games.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";
import type { Word } from "#transports/pages/words/en.ts";
import { BUTTONS } from "./buttons.ts";

/** The outcome of a play in words, and the place where the wheel stops: a position among the prizes, or none. */
export interface PlayOutcome {
  won: boolean;
  title: string;
  text: string;
  /** The name of the drawn prize, or of the slice without one. */
  face: string;
  position: number | null;
}

export async function outcomeOf(visit: PageVisit, playId: string): Promise<PlayOutcome> {
  const shown = await visit.run<GamePlay>("show_game_play", { playId });
  const { prize, position, game } = shown;
  const face = prize?.label ?? game.prizes[position ?? -1]?.label ?? "–";
  return { ...wordsOf(visit, shown), won: prize !== null, face, position };
}

/** The game as it stands for the player now. */
export async function placeNow({ run }: PageVisit, gameId: string): Promise<Place> {
  const { places } = await run<{ places: Place[] }>("show_games", { gameId });
  return places[0]!;
}

/** The play of the address; it belongs to the player and to the game of the address. */
export async function playOf({ c, run }: PageVisit): Promise<GamePlay> {
  const playId = c.req.param("play") ?? "";
  if (!isUuid(playId)) throw noSuch("game play", playId);
  const shown = await run<GamePlay>("show_game_play", { playId });
  if (shown.game.id !== c.req.param("id")) throw noSuch("game play", playId);
  return shown;
}

/** The page of a play: it stays, however often it is loaded. */
export async function showPlay(visit: PageVisit): Promise<Response> {
  return playPage(visit, await playOf(visit));
}

async function playPage(visit: PageVisit, shown: GamePlay, said?: string): Promise<Response> {
  const { say } = visit.speech;
  const { game, play, prize } = shown;
  const { title, text } = wordsOf(visit, shown);
  const home = `${visit.here}/${game.id}`;
  const content = html`<p class="back"><a href="${home}">${game.name}</a></p><article class="game"><h1>${title}</h1>${said ? html`<p class="said" role="status">${said}</p>` : ""}${text === "" ? "" : html`<p class="lead">${text}</p>`}${
    prize ? ticket(visit, shown, home) : ""
  }<a class="${prize ? "button quiet" : "button"}" href="${home}">${say((await isOpen(visit, game.id)) ? BUTTONS[game.type].again : "back_to_game")}</a><nav class="links" aria-label="${say("about_game")}"><a href="${home}/plays/${play.id}/proof">${say("check_draw")}</a><a href="${home}/rules">${say("rules")}</a></nav></article>`;
  return playerPage(visit, {
    heading: title,
    said,
    content,
    form: "list",
    styles: ["games.css", "play.css"],
  });
}

/** Whether the player may play once more. A play stays shown where its game is not open to the player any more. */
async function isOpen(visit: PageVisit, gameId: string): Promise<boolean> {
  try {
    return (await placeNow(visit, gameId)).check.allowed;
  } catch (error) {
    if (toFault(error).code === "not_eligible") return false;
    throw error;
  }
}

function wordsOf({ speech: { say } }: PageVisit, { play, prize }: GamePlay): { title: string; text: string } {
  if (!prize) return { title: say("lost"), text: say("lost_help") };
  const title = say("won", { prize: prize.label });
  if (prize.kind === "free_play") return { title, text: say("won_free_play") };
  return { title, text: play.status === "revealed" ? say("won_help") : "" };
}

const STATES: Readonly<Partial<Record<GamePlay["play"]["status"], Word>>> = {
  needs_tax_form: "tax_form",
  expired: "prize_expired",
  voided: "prize_voided",
};

function ticket({ speech, property }: PageVisit, shown: GamePlay, home: string): Html | "" {
  const { play, prize, redemption_code } = shown;
  const { say, day } = speech;
  if (prize!.kind === "free_play") return "";
  const date = (iso: string) => day(iso, property.timezone);
  const state = STATES[play.status];
  const over = play.status === "redeemed" || state !== undefined;
  return html`<section class="${over ? "prize over" : "prize"}" aria-label="${say("prize")}"><p class="value">${prize!.label}</p>${
    play.status === "revealed"
      ? html`<form method="post" action="${home}/plays/${play.id}"><button>${say("claim")}</button></form>`
      : ""
  }${redemption_code ? html`<p class="kind">${say("code")}</p><p class="code">${redemption_code}</p><p class="hint">${say("code_help")}</p>` : ""}${
    play.status === "redeemed" && play.redeemed_at
      ? html`<p>${say("redeemed_on", { date: date(play.redeemed_at) })}</p>`
      : ""
  }${state ? html`<p>${say(state)}</p>` : ""}${
    play.redeem_by && !over
      ? html`<p class="until">${say("expires", { date: date(play.redeem_by) })}</p>`
      : ""
  }</section>`;
}

/** Claims the prize. Pressed twice, it shows the same code. */
export async function claim(visit: PageVisit): Promise<Response> {
  const { c, run, here } = visit;
  const { game, play } = await playOf(visit);
  try {
    await run("claim_game_prize", { playId: play.id });
  } catch (error) {
    if (toFault(error).code !== "conflict") throw error;
    // The play's page says how it stands, but for a pool without a code.
    const now = await playOf(visit);
    if (now.play.status === "revealed") return playPage(visit, now, visit.speech.say("no_code"));
  }
  const location = `${here}/${game.id}/plays/${play.id}`;
  c.header("cache-control", "no-store");
  return c.redirect(location, 303);
}
