import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { PART, playersPage } from "./list.ts";
import { erasePlayer, exportPlayer, recordStop } from "./personal.ts";
import { playerPage } from "./player.ts";

/** Mounts the pages of players: the search, and one player with what the person may ask for. */
export function mountPlayers(mounting: Mounting): void {
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  mountDesk(mounting, "get", PART, playersPage);
  mountDesk(mounting, "get", `${PART}/:id`, playerPage);
  post("/:id/stop", recordStop);
  post("/:id/export", exportPlayer);
  post("/:id/erase", erasePlayer);
}
