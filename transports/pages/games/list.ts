import { html } from "hono/html";
import type { Place } from "#tools/game-pages/show-games.ts";
import { shownName } from "#tools/themes/theme.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";
import { emblemOf } from "./stage.ts";

/** The games that a player may play. */
export function listOf(visit: PageVisit, places: readonly Place[]): Html {
  const { say } = visit.speech;
  if (places.length === 0) {
    return html`<div class="head"><h1>${say("games")}</h1></div><div class="empty"><h2>${say("games_empty")}</h2><p class="soft">${say("games_empty_help", { name: shownName(visit.theme, visit.property) })}</p></div>`;
  }
  return html`<div class="head"><h1>${say("games")}</h1></div><ul class="games">${places.map((place) => row(visit, place))}</ul>`;
}

function row({ speech, property, here }: PageVisit, { game, check }: Place): Html {
  const { say, day } = speech;
  const date = game.ends_at && day(game.ends_at, property.timezone);
  return html`<li class="game-row">${emblemOf(game)}<div><h2><a href="${here}/${game.id}">${game.name}</a></h2><p class="soft">${leftOf(check, say)}${date ? html` · ${say("ends_on", { date })}` : ""}</p></div></li>`;
}

/** The plays that a player has left, in words. */
export function leftOf(
  { allowed, plays_remaining }: Place["check"],
  say: PageVisit["speech"]["say"],
): string {
  if (!allowed) return say("no_plays");
  return plays_remaining === null ? say("plays_open") : say("plays_left", { count: plays_remaining });
}
