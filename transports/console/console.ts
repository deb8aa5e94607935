import { invalid } from "#runtime/faults.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { mountApprovals } from "./approvals/mount.ts";
import { mountCampaigns } from "./campaigns/mount.ts";
import { mountCompliance } from "./compliance/mount.ts";
import { setCookie, YEAR_SECONDS } from "./cookies.ts";
import type { Desk } from "./desk.ts";
import { mountImportPages } from "./imports/mount.ts";
import { mountInvitation } from "./invitation.ts";
import { mountJourneys } from "./journeys/mount.ts";
import { mountLive } from "./live/mount.ts";
import type { Live } from "./live/watch.ts";
import { mountDesk } from "./mount-desk.ts";
import { actOnSending, nowPage } from "./now.ts";
import { mountPlayers } from "./players/mount.ts";
import { recordPage, tablePage, tablesPage } from "./records/records.ts";
import { mountSegments } from "./segments/mount.ts";
import { mountSettings } from "./settings/mount.ts";
import { mountSignIn } from "./sign-in.ts";
import { redirect } from "./signed-out.ts";
import { mountTemplates } from "./templates/mount.ts";

/** Mounts the console: pages for signed-in people, on the same operations as every other face. */
export function mountConsole(mounting: Mounting, live: Live): void {
  const { service, catalog } = mounting;
  mountSignIn(mounting);
  mountInvitation(mounting);
  mountLive(mounting, live);
  mountDesk(mounting, "get", "/console", nowPage);
  mountDesk(mounting, "post", "/console/property", (desk) => chooseProperty(service, desk), {
    ofAnyProperty: true,
  });
  for (const act of ["pause", "resume"] as const) {
    mountDesk(mounting, "post", `/console/sending/${act}`, (desk) => actOnSending(desk, act));
  }
  mountApprovals(mounting);
  mountCampaigns(mounting);
  mountJourneys(mounting);
  mountSegments(mounting);
  mountTemplates(mounting);
  mountPlayers(mounting);
  mountImportPages(mounting);
  mountSettings(mounting);
  mountCompliance(mounting);
  mountDesk(mounting, "get", "/console/records", (desk) => tablesPage(desk, catalog));
  mountDesk(mounting, "get", "/console/records/:table", (desk) => tablePage(desk, catalog));
  mountDesk(mounting, "get", "/console/records/:table/:id", (desk) => recordPage(desk, catalog));
}

async function chooseProperty(service: Service, { properties, form }: Desk): Promise<Response> {
  const wanted = form.get("property") ?? "";
  if (!properties.some(({ id }) => id === wanted)) throw invalid("property", "is not one of your properties");
  return redirect("/console", [setCookie(service, "console_property", wanted, YEAR_SECONDS)]);
}
