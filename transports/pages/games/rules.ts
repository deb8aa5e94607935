import { html } from "hono/html";
import type { Place } from "#tools/game-pages/show-games.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";

/** The rules as they were frozen at the activation, in the language in which they were written. */
export function showRules(visit: PageVisit, { game }: Place): Promise<Response> {
  const { say } = visit.speech;
  const lines = (game.rules_text ?? "").split("\n").filter((line) => line !== "");
  const content = html`${back(visit, game)}<article class="game rules"><h1>${say("rules")}</h1>${
    game.rules_url ? html`<p><a href="${game.rules_url}" rel="noreferrer">${game.rules_url}</a></p>` : ""
  }<div lang="en">${blocks(lines)}</div></article>`;
  return playerPage(visit, {
    heading: say("rules"),
    content,
    form: "list",
    styles: ["games.css", "play.css"],
  });
}

/** Lines that begin with a dash are a list. */
function blocks(lines: readonly string[]): Html[] {
  const parts: Html[] = [];
  let items: string[] = [];
  const close = () => {
    if (items.length > 0) parts.push(html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`);
    items = [];
  };
  for (const line of lines) {
    if (line.startsWith("- ")) {
      items.push(line.slice(2));
      continue;
    }
    close();
    const [, label, text] = /^([^:.]{3,30}:)( .+)?$/.exec(line) ?? [];
    parts.push(label ? html`<p><b>${label}</b>${text ?? ""}</p>` : html`<p>${line}</p>`);
  }
  close();
  return parts;
}

/** The form of our own free entry, and the address of the casino's. */
export function showFreeEntry(visit: PageVisit, place: Place, granted?: boolean): Promise<Response> {
  const { game, check } = place;
  const { say } = visit.speech;
  const home = `${visit.here}/${game.id}`;
  const own = html`<p>${say("free_entry_help")}</p><form method="post" action="${home}/free"><button>${say("free_entry_get")}</button></form>`;
  const over = html`<div class="notice"><h2>${say("game_over")}</h2><p>${say("game_over_help")}</p></div>`;
  const open = check.code === "game_not_active" ? over : own;
  const said = granted === undefined ? undefined : say(granted ? "free_entry_given" : "free_entry_had");
  const answer = html`<p class="said" role="status">${said}</p><a class="button" href="${home}">${say("back_to_game")}</a>`;
  const content = html`${back(visit, game)}<article class="game"><h1>${say("free_entry")}</h1>${
    granted === undefined ? (game.own_free_entry ? open : "") : answer
  }${
    game.free_entry_url
      ? html`<p><a href="${game.free_entry_url}" rel="noreferrer">${game.free_entry_url}</a></p>`
      : ""
  }</article>`;
  return playerPage(visit, {
    heading: say("free_entry"),
    said,
    content,
    form: "list",
    styles: ["games.css", "play.css"],
  });
}

/** Gives the ticket of the day. */
export async function enterFree(visit: PageVisit, place: Place): Promise<Response> {
  if (!place.game.own_free_entry || place.check.code === "game_not_active")
    return showFreeEntry(visit, place);
  const { granted } = await visit.run<{ granted: boolean }>("enter_game_free", { gameId: place.game.id });
  return showFreeEntry(visit, place, granted);
}

function back({ here }: PageVisit, { id, name }: Place["game"]): Html {
  return html`<p class="back"><a href="${here}/${id}">${name}</a></p>`;
}
