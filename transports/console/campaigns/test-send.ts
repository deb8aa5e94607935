import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, type Filled, formOf, input, tried } from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { rehearsalForm } from "./rehearsal.ts";

/** The forms that try a campaign: an email to oneself, a text or a call to one player, a call with a made-up person. */
export function testForm(desk: Desk, campaign: Row, filled: Filled): Html | "" {
  const action = `/console/campaigns/${campaign.id}/test`;
  const { test, messageAsNowWithTest, sendTestTo, callAsNowWithSample, ...words } = say().report;
  if (campaign.channel === "email")
    return html`<h2>${test}</h2><p class="soft">${messageAsNowWithTest}</p>${actButton(desk, action, sendTestTo(desk.user.email))}`;
  const toNumber = (soft: string, button: string) =>
    html`<h2>${test}</h2><p class="soft">${soft}</p>${formOf(desk, {
      action,
      filled,
      kind: "bare",
      content: html`${input(filled, { name: "to", label: words.numberOfAPlayer, type: "tel", most: 40, isRequired: true })}<button class="quiet small">${button}</button>`,
    })}`;
  if (campaign.channel === "sms") return toNumber(words.textToOnePlayer, words.sendTestText);
  if (campaign.channel !== "voice") return "";
  return html`<h2>${say().general.rehearsal}</h2><p class="soft">${callAsNowWithSample}</p>${rehearsalForm(campaign)}${toNumber(words.callToOnePlayer, words.callThisNumber)}`;
}

/** Sends a test to the person, or to the number of a player. A fault that the person can mend shows `again`. */
export function sendTest(desk: Desk, again: (filled: Filled) => Promise<Response>): Promise<Response> {
  return tried(
    async () => {
      const campaignId = desk.c.req.param("id");
      const { channel } = await desk.run("get_campaign", { id: campaignId });
      const to = channel === "email" ? desk.user.email : (desk.form.get("to") ?? "").trim();
      await desk.once("send_test_message", { campaignId, to });
      return redirect(`/console/campaigns/${campaignId}?check=yes&tested=yes`);
    },
    (fault) => again({ values: desk.form, fault }),
  );
}

/** Says that the test which was asked for is on its way; empty otherwise. */
export function testedNote(desk: Desk, { channel }: Row): Html | "" {
  if (desk.c.req.query("tested") === undefined) return "";
  const { testOnItsWay, testCallOnItsWay, testTextOnItsWay } = say().report;
  const calls = html`<a href="/console/records/voice_calls">${say().report.seeTheCalls}</a>`;
  const note =
    channel === "voice"
      ? html`${testCallOnItsWay} ${calls}`
      : channel === "sms"
        ? testTextOnItsWay
        : testOnItsWay(desk.user.email);
  return html`<p class="said" role="status">${note}</p>`;
}
