import { invalid } from "#runtime/faults.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { mountApprovals } from "./approvals/mount.ts";
import { ACTS, actOnCampaign, campaignPage, campaignsPage, testCampaign } from "./campaigns.ts";
import { messageOf } from "./check.ts";
import { mountCompliance } from "./compliance/mount.ts";
import { setCookie } from "./cookies.ts";
import { actOnJourney, journeyPage, journeyPicture, journeysPage, nodePage } from "./journeys.ts";
import { mountDesk } from "./mount-desk.ts";
import { nowPage } from "./now.ts";
import { playerPage, playersPage } from "./players.ts";
import { recordPage, tablePage, tablesPage } from "./records.ts";
import { segmentPage, segmentsPage } from "./segments.ts";
import { mountSignIn, redirect } from "./sign-in.ts";

const YEAR_SECONDS = 31_536_000;

/** Mounts the console: pages for signed-in people, on the same operations as every other face. */
export function mountConsole(mounting: Mounting): void {
  const { service, catalog } = mounting;
  mountSignIn(mounting);
  mountDesk(mounting, "get", "/console", nowPage);
  mountDesk(mounting, "post", "/console/property", async ({ properties, form }) => {
    const wanted = form.get("property") ?? "";
    if (!properties.some(({ id }) => id === wanted)) throw invalid("property", "is none of yours");
    return redirect("/console", [setCookie(service, "console_property", wanted, YEAR_SECONDS)]);
  });
  mountDesk(mounting, "get", "/console/campaigns", campaignsPage);
  mountDesk(mounting, "get", "/console/campaigns/:id", campaignPage);
  for (const act of ACTS) {
    mountDesk(mounting, "post", `/console/campaigns/:id/${act}`, (desk) => actOnCampaign(desk, act));
  }
  mountDesk(mounting, "post", "/console/campaigns/:id/test", testCampaign);
  mountDesk(mounting, "get", "/console/campaigns/:id/message", messageOf);
  mountDesk(mounting, "get", "/console/journeys", journeysPage);
  mountDesk(mounting, "get", "/console/journeys/:id", journeyPage);
  mountDesk(mounting, "get", "/console/journeys/:id/picture", journeyPicture);
  mountDesk(mounting, "get", "/console/journeys/:id/nodes/:node", nodePage);
  for (const act of ["pause", "resume"] as const) {
    mountDesk(mounting, "post", `/console/journeys/:id/${act}`, (desk) => actOnJourney(desk, act));
  }
  mountDesk(mounting, "get", "/console/segments", segmentsPage);
  mountDesk(mounting, "get", "/console/segments/:id", segmentPage);
  mountDesk(mounting, "get", "/console/players", playersPage);
  mountDesk(mounting, "get", "/console/players/:id", playerPage);
  mountApprovals(mounting);
  mountCompliance(mounting);
  mountDesk(mounting, "get", "/console/records", (desk) => tablesPage(desk, catalog));
  mountDesk(mounting, "get", "/console/records/:table", (desk) => tablePage(desk, catalog));
  mountDesk(mounting, "get", "/console/records/:table/:id", (desk) => recordPage(desk, catalog));
}
