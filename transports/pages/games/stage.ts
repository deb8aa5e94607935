import { html } from "hono/html";
import type { ShownGame } from "#tools/game-pages/game-view.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Speech } from "#transports/pages/words/words.ts";

const RADIUS = 150;
const CENTRE = 160;
const COLOURS = 6;
const MOST_LETTERS = 16;

/** The thing that a player plays with. A script moves it to the answer that the service has given. */
export function stageOf(game: ShownGame, say: Speech["say"]): Html {
  // The result below says what the face shows.
  const face = (sign: string) => html`<p class="face" data-face aria-hidden="true">${sign}</p>`;
  switch (game.type) {
    case "spin_wheel":
      return wheel(
        game.prizes.map(({ label }) => label),
        say,
      );
    case "scratch_card":
      return html`<div class="stage scratch" data-stage="scratch" data-wait="${say("scratch_wait")}">${face("?")}<canvas aria-hidden="true" hidden></canvas></div>`;
    case "mystery_box":
      return html`<div class="stage box" data-stage="box">${boxOf("big")}${face("")}</div>`;
    default:
      return html`<div class="stage instant" data-stage="instant">${face("★")}</div>`;
  }
}

/** A small picture of the game's type. */
export function emblemOf({ type, prizes }: Pick<ShownGame, "type"> & { prizes: ArrayLike<unknown> }): Html {
  switch (type) {
    case "spin_wheel":
      return html`<svg class="emblem" viewBox="0 0 320 320" aria-hidden="true">${slices(prizes.length)}</svg>`;
    case "mystery_box":
      return html`<span class="emblem" aria-hidden="true">${boxOf("small")}</span>`;
    default:
      return html`<span class="emblem sign" aria-hidden="true">${type === "scratch_card" ? "?" : "★"}</span>`;
  }
}

function boxOf(size: string): Html {
  return html`<svg class="${size}" viewBox="0 0 120 110" aria-hidden="true"><g class="lid"><rect class="s0" x="8" y="26" width="104" height="24" rx="5"/><path class="ribbon" d="M60 26c-30-34-52-2 0 0c52-2 30-34 0 0" fill="none"/></g><rect class="s1" x="14" y="50" width="92" height="54" rx="5"/><rect class="band" x="52" y="26" width="16" height="78"/></svg>`;
}

/** A wheel whose first slice begins at the top. All slices are of one size: the odds are in the rules. */
function wheel(labels: readonly string[], say: Speech["say"]): Html {
  const names = labels.map((label, index) => {
    const turn = ((index + 0.5) * 360) / labels.length;
    const text = label.length > MOST_LETTERS ? `${label.slice(0, MOST_LETTERS - 1).toWellFormed()}…` : label;
    return html`<text class="t${colourOf(index, labels.length)}" transform="rotate(${turn - 90} ${CENTRE} ${CENTRE})" x="${CENTRE + RADIUS - 14}" y="${CENTRE}" text-anchor="end" dominant-baseline="central">${text}</text>`;
  });
  return html`<div class="stage wheel" data-stage="wheel" data-slices="${labels.length}" data-wait="${say("spin_wait")}"><svg viewBox="0 0 320 320" role="img" aria-label="${say("wheel_of", { prizes: labels.join(", ") })}"><g data-wheel>${slices(labels.length)}${names}</g><circle class="hub" cx="${CENTRE}" cy="${CENTRE}" r="20"/><path class="pin" d="M149 0h22l-11 21z"/></svg></div>`;
}

function slices(count: number): Html[] {
  if (count < 2) return [html`<circle class="s0" cx="${CENTRE}" cy="${CENTRE}" r="${RADIUS}"/>`];
  return Array.from({ length: count }, (_, index) => {
    const [from, to] = [pointAt(index / count), pointAt((index + 1) / count)];
    return html`<path class="s${colourOf(index, count)}" d="M${CENTRE} ${CENTRE}L${from}A${RADIUS} ${RADIUS} 0 0 1 ${to}Z"/>`;
  });
}

/** Of the six, 0 and 4 look the same. Neighbours differ, also the last and the first. */
function colourOf(index: number, count: number): number {
  const colour = index % COLOURS;
  return index === count - 1 && (colour === 0 || colour === 4) ? 2 : colour;
}

function pointAt(share: number): string {
  const angle = share * 2 * Math.PI;
  return `${(CENTRE + RADIUS * Math.sin(angle)).toFixed(2)} ${(CENTRE - RADIUS * Math.cos(angle)).toFixed(2)}`;
}
