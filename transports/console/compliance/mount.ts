import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { consentsPage, receiptPage } from "./consents.ts";
import { compliancePage, PART } from "./controls.ts";
import { messagePage } from "./message.ts";

/** Mounts the pages of a compliance officer. */
export function mountCompliance(mounting: Mounting): void {
  mountDesk(mounting, "get", PART, compliancePage);
  mountDesk(mounting, "get", "/console/players/:id/consents", consentsPage);
  mountDesk(mounting, "get", "/console/players/:id/consents/:consent", receiptPage);
  mountDesk(mounting, "get", "/console/messages/:id", messagePage);
}
