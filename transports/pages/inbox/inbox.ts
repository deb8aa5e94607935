import type { Mounting } from "#transports/pages/player/visit.ts";
import { mountInboxApi } from "./api.ts";
import type { Badges } from "./badges.ts";
import { mountInboxPage } from "./page.ts";

/** Mounts the branded inbox: the page of a player's link, and the addresses of the casino's own app. */
export function mountInbox(mounting: Mounting, badges: Badges): void {
  mountInboxPage(mounting);
  mountInboxApi(mounting, badges);
}
