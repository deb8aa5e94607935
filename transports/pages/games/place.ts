import { html } from "hono/html";
import { toFault } from "#runtime/faults.ts";
import type { Place } from "#tools/game-pages/show-games.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { type Html, UNSEEN } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";
import { BUTTONS } from "./buttons.ts";
import { leftOf } from "./list.ts";
import { outcomeOf, placeNow } from "./play.ts";
import { stageOf } from "./stage.ts";

/** The page of a game: what it looks like, its button, and the player's last plays. */
export function showPlace(visit: PageVisit, place: Place): Promise<Response> {
  const { game, check } = place;
  const { say, day } = visit.speech;
  const date = game.ends_at && day(game.ends_at, visit.property.timezone);
  const home = `${visit.here}/${game.id}`;
  const content = html`<p class="back"><a href="${visit.here}">${say("all_games")}</a></p><article class="game"><h1>${game.name}</h1>${
    game.description ? html`<p class="lead">${game.description}</p>` : ""
  }${stageOf(game, say)}<p class="result" role="status" tabindex="-1" data-result></p>${
    check.allowed ? form(visit, place, home) : closed(visit, place, home)
  }<p class="soft">${check.allowed ? html`<span data-left>${leftOf(check, say)}</span>` : ""}${check.allowed && date ? " · " : ""}${date ? say("ends_on", { date }) : ""}</p><nav class="links" aria-label="${say("about_game")}"><a href="${home}/rules">${say("rules")}</a>${
    check.next !== "ticket" && (game.own_free_entry || game.free_entry_url)
      ? html`<a href="${home}/free">${say("free_entry")}</a>`
      : ""
  }</nav>${history(visit, place, home)}</article>`;
  return playerPage(visit, {
    heading: game.name,
    content,
    form: "list",
    styles: ["games.css", "place.css"],
    scripts: ["game.js"],
  });
}

function form({ speech: { say } }: PageVisit, { game, check }: Place, home: string): Html {
  return html`<form method="post" action="${home}" data-play><input type="hidden" name="play" value="${check.nonce}"><button>${say(BUTTONS[game.type].first)}</button><button type="button" class="quiet" data-reveal hidden>${say("reveal")}</button><details class="fair"><summary>${say("fair")}</summary><p>${say("fair_help")}</p><p class="hash"><code>${check.next_seed_hash ?? ""}</code></p><label for="seed">${say("fair_word")}</label><input id="seed" name="seed" maxlength="60" autocomplete="off"></details></form><a class="button" data-next hidden href="${home}">${say("see_result")}</a><a class="button quiet" data-again hidden href="${home}">${say(BUTTONS[game.type].again)}</a>`;
}

/** Says why the player cannot play now, and leads on. */
function closed({ speech, here }: PageVisit, { game, check }: Place, home: string): Html {
  const { say, duration } = speech;
  const isOver = check.code !== "play_limit_reached";
  const help = isOver
    ? say("game_over_help")
    : say(`next_${check.next ?? "none"}`, { time: duration(check.retry_after ?? 0) });
  const isFree = !isOver && check.next === "ticket" && (game.own_free_entry || game.free_entry_url !== null);
  const way = isFree
    ? html`<a class="button" href="${home}/free">${say("free_entry")}</a>`
    : html`<a class="button quiet" href="${here}">${say("all_games")}</a>`;
  return html`<div class="notice"><h2>${say(isOver ? "game_over" : "no_plays")}</h2><p>${help}</p>${way}</div>`;
}

function history({ speech, property }: PageVisit, { plays }: Place, home: string): Html | "" {
  if (plays.length === 0) return "";
  const { say, day } = speech;
  return html`<section class="plays"><h2>${say("my_plays")}</h2><ul>${plays.map(
    ({ id, label, played_at }) =>
      html`<li><a href="${home}/plays/${id}">${label ?? say("lost")}</a> <time datetime="${played_at}">${day(played_at, property.timezone)}</time></li>`,
  )}</ul></section>`;
}

/**
 * Plays once. The form names the number of the play: a second press, a reload and a race give the play that was played,
 * and never one more.
 */
export async function play(visit: PageVisit, { game, check, plays }: Place): Promise<Response> {
  const { c, here } = visit;
  const fields = await readForm(c);
  const number = Number(fields?.get("play"));
  const asksData = (c.req.header("accept") ?? "").includes("application/json");
  const home = `${here}/${game.id}`;
  const word = (fields?.get("seed") ?? "").trim().replace(/[^\x21-\x39\x3b-\x7e]/g, "-");
  const input = { gameId: game.id, nonce: number, ...(word !== "" && { clientSeed: word.slice(0, 60) }) };
  try {
    const playId = number === check.nonce ? await playOnce(visit, input) : played(plays, number);
    const next = playId === undefined ? home : `${home}/plays/${playId}`;
    if (!asksData || playId === undefined) return seeOther(next);
    const now = await placeNow(visit, game.id);
    const left = leftOf(now.check, visit.speech.say);
    const shown = await outcomeOf(visit, playId);
    const way = visit.speech.say(shown.won ? "see_prize" : "see_result");
    const outcome = { ...shown, left, again: now.check.allowed, url: next, way };
    return Response.json(outcome, { headers: UNSEEN });
  } catch (error) {
    if (toFault(error).status >= 500 || toFault(error).status === 429) throw error;
    // The game's page says why.
    return asksData ? Response.json({ url: home }, { status: 409, headers: UNSEEN }) : seeOther(home);
  }
}

/** The play of this number: this one, or that of another press that was first. */
async function playOnce(visit: PageVisit, input: { gameId: string; nonce: number }) {
  try {
    return (await visit.run<{ play_id: string }>("play_game", input)).play_id;
  } catch (error) {
    if (toFault(error).code !== "conflict") throw error;
    return played((await placeNow(visit, input.gameId)).plays, input.nonce);
  }
}

const played = (plays: Place["plays"], number: number) => plays.find(({ nonce }) => nonce === number)?.id;

function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { ...UNSEEN, location } });
}
