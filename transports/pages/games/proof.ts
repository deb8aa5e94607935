import { html } from "hono/html";
import type { GamePlay } from "#tools/game-pages/show-game-play.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";
import type { Word } from "#transports/pages/words/en.ts";
import { playOf } from "./play.ts";

/** The proof of a draw. A script of the page computes it again in the browser, and asks the service nothing. */
export async function showProof(visit: PageVisit): Promise<Response> {
  const shown = await playOf(visit);
  const { say } = visit.speech;
  const { game, play, verified } = shown;
  const { proof } = verified;
  const isDeck = proof.model === "deck";
  // A number that was drawn after a prize had gone has its own message, which only the service's check follows.
  const computable = !isDeck && !play.redistributed;
  const rows: [Word, string | number][] = [
    ["proof_game_hash", proof.game_seed_hash],
    ["proof_seed_hash", proof.seed_hash],
    ["proof_seed", proof.seed],
    ["proof_word", proof.client_seed],
    ["proof_play", proof.nonce],
    [isDeck ? "proof_position" : "proof_number", proof.number],
    ["proof_of", proof.denominator],
    ...(verified.master_seed ? [["proof_master", verified.master_seed] as [Word, string]] : []),
  ];
  const content = html`<p class="back"><a href="${visit.here}/${game.id}/plays/${play.id}">${say("back_to_prize")}</a></p><article class="game proof"><h1>${say("proof")}</h1><p class="lead">${say(isDeck ? "proof_deck_help" : "proof_help")}</p><p class="${verified.valid ? "verdict good" : "verdict"}">${say(verified.valid ? "proof_good" : "proof_bad")}</p><p class="verdict" role="status" data-verdict data-good="${say("proof_good_here")}" data-bad="${say("proof_bad")}"></p><dl data-proof data-number="${computable ? "yes" : "no"}" data-seed="${proof.seed}" data-hash="${proof.seed_hash}" data-word="${proof.client_seed}" data-play="${proof.nonce}" data-drawn="${proof.number}" data-of="${proof.denominator}">${rows.map(
    ([word, value]) => html`<dt>${say(word)}</dt><dd><code>${value}</code></dd>`,
  )}</dl>${odds(visit, shown)}</article>`;
  return playerPage(visit, {
    heading: say("proof"),
    content,
    form: "list",
    styles: ["games.css", "play.css"],
    scripts: ["proof.js"],
  });
}

/** The numbers of each prize, once they are public: by the rules, or by the end of the game. */
function odds({ speech: { say } }: PageVisit, { game, verified, prize }: GamePlay): Html | "" {
  if (!game.odds_published && !verified.master_seed) return "";
  let end = 0;
  const rows = verified.odds.map(({ prize_id, weight }) => {
    const from = end;
    end += weight;
    const label = game.prizes.find(({ id }) => id === prize_id)?.label ?? "";
    return html`<tr ${prize?.id === prize_id ? html`aria-current="true"` : ""}><th scope="row">${label}</th><td>${verified.proof.model === "deck" ? weight : `${from}–${end - 1}`}</td></tr>`;
  });
  return html`<table><caption>${say(verified.proof.model === "deck" ? "proof_tickets" : "proof_numbers")}</caption><tbody>${rows}</tbody></table>`;
}
