import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { Fault, noSuch, toFault } from "#runtime/faults.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import type { Place } from "#tools/game-pages/show-games.ts";
import { takeTicket, waitingTicket } from "#tools/games/tickets/campaign-ticket.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import { mountPlayerLink, type PageVisit } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { listOf } from "./list.ts";
import { play, showPlace } from "./place.ts";
import { claim, placeNow, showPlay } from "./play.ts";
import { showProof } from "./proof.ts";
import { enterFree, showFreeEntry, showRules } from "./rules.ts";

/** Mounts the games of a player's link. Each works without a script; the service draws, and no page does. */
export function mountGames(mounting: Mounting): void {
  const on = (method: "get" | "post", below: string, answer: (visit: PageVisit) => Promise<Response>) =>
    mountPlayerLink(mounting, "game", method, below, async (visit) => {
      try {
        if (method === "get") await bringTicket(mounting, visit);
        return await answer(visit);
      } catch (error) {
        return await refusal(visit, error);
      }
    });
  on("get", "", showList);
  on("get", "/:id", async (visit) => showPlace(visit, await placeOf(visit)));
  on("post", "/:id", async (visit) => play(visit, await placeOf(visit)));
  on("get", "/:id/rules", async (visit) => showRules(visit, await placeOf(visit)));
  on("get", "/:id/free", async (visit) => showFreeEntry(visit, await placeOf(visit)));
  on("post", "/:id/free", async (visit) => enterFree(visit, await placeOf(visit)));
  on("get", "/:id/plays/:play", showPlay);
  on("post", "/:id/plays/:play", claim);
  on("get", "/:id/plays/:play/proof", showProof);
}

/** The ticket that the link of a campaign's message brings. */
async function bringTicket({ service }: Mounting, { property, player, sendId }: PageVisit): Promise<void> {
  if (sendId === null) return;
  const ticket = await service.db.asProperty(
    property.id,
    (sql) => waitingTicket({ sql, property }, { playerId: player.id, sendId }),
    { readOnly: true },
  );
  if (ticket) await writeAsService(service, property, (context) => takeTicket(context, player.id, ticket));
}

async function showList(visit: PageVisit): Promise<Response> {
  const { places } = await visit.run<{ places: Place[] }>("show_games");
  return playerPage(visit, {
    heading: visit.speech.say("games"),
    content: listOf(visit, places),
    form: "list",
    styles: ["games.css"],
  });
}

async function placeOf(visit: PageVisit): Promise<Place> {
  const gameId = visit.c.req.param("id") ?? "";
  if (!isUuid(gameId)) throw noSuch("game", gameId);
  return placeNow(visit, gameId);
}

const REFUSALS: Readonly<Record<string, readonly ["not_for_you" | "game_gone", number]>> = {
  not_eligible: ["not_for_you", 403],
  not_found: ["game_gone", 404],
};

/** A page that says why in the player's words. The page of a game that is gone is that of one that never was. */
function refusal(visit: PageVisit, error: unknown): Promise<Response> {
  const found = REFUSALS[toFault(error).code];
  if (!(error instanceof Fault) || !found) throw error;
  const [word, status] = found;
  const { say } = visit.speech;
  return playerPage(visit, {
    heading: say(word),
    content: html`<p>${say(`${word}_help`)}</p><a class="button" href="${visit.here}">${say("all_games")}</a>`,
    status,
    styles: ["games.css"],
  });
}
