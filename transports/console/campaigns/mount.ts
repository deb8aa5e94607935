import type { Desk } from "#transports/console/desk.ts";
import type { Filled } from "#transports/console/fields.ts";
import { consolePage } from "#transports/console/frame.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { abTestForm, removeAbTest, saveAbTest } from "./ab-test.ts";
import {
  ACTS,
  actOnCampaign,
  campaignPage,
  checkPage,
  choicesOf,
  copyCampaign,
  deleteCampaign,
} from "./campaign.ts";
import { hoursPage } from "./hours.ts";
import { campaignsPage } from "./list.ts";
import { messageOf } from "./preview.ts";
import { rehearsalPage } from "./rehearsal.ts";
import { scheduleCampaign } from "./schedule.ts";
import { createCampaign, editor, newCampaignPage, saveCampaign } from "./write.ts";

const PART = "/console/campaigns";

/** Mounts the pages of campaigns: the list, a new one, one before it goes and its report after. */
export function mountCampaigns(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  get("", campaignsPage);
  get("/new", async (desk) => {
    const { template = "", segment = "" } = desk.c.req.query();
    const values = { channel: "email", template_id: template, to: segment };
    return newCampaignPage(desk, await choicesOf(desk), { values });
  });
  post("/new", (desk) => createCampaign(desk, () => choicesOf(desk)));
  get("/:id", campaignPage);
  post("/:id", (desk) => saveCampaign(desk, (filled) => againPage(desk, filled)));
  get("/:id/check", checkPage);
  get("/:id/message", messageOf);
  get("/:id/rehearsal", rehearsalPage);
  get("/:id/hours", hoursPage);
  for (const act of ACTS) post(`/:id/${act}`, (desk) => actOnCampaign(desk, act));
  post("/:id/ab-test", (desk) => saveAbTest(desk, (filled) => testAgainPage(desk, filled)));
  post("/:id/ab-test/remove", removeAbTest);
  post("/:id/copy", copyCampaign);
  post("/:id/delete", deleteCampaign);
  post("/:id/schedule", scheduleCampaign);
  post("/:id/test", async (desk) => {
    const campaignId = desk.c.req.param("id");
    await desk.once("send_test_message", { campaignId, to: desk.user.email });
    return redirect(`${PART}/${campaignId}?check=yes&tested=yes`);
  });
}

async function againPage(desk: Desk, filled: Filled): Promise<Response> {
  const campaign = await desk.run("get_campaign", { id: desk.c.req.param("id") });
  const content = editor(desk, campaign, await choicesOf(desk), filled);
  const above = { path: `${PART}/${campaign.id}`, name: String(campaign.name) };
  return consolePage(desk, { part: PART, above, heading: say().campaigns.notSavedYet, content });
}

async function testAgainPage(desk: Desk, filled: Filled): Promise<Response> {
  const campaign = await desk.run("get_campaign", { id: desk.c.req.param("id") });
  const { templates } = await choicesOf(desk);
  const content = abTestForm(desk, campaign, templates, filled);
  const above = { path: `${PART}/${campaign.id}`, name: String(campaign.name) };
  return consolePage(desk, { part: PART, above, heading: say().campaigns.notSavedYet, content });
}
