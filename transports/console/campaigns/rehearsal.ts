import { html } from "hono/html";
import type { TranscriptLine } from "#tools/voice/engine/transcript.ts";
import { PERSONAS } from "#tools/voice/simulator/personas.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { transcriptOf } from "#transports/console/transcript.ts";
import { words } from "#transports/console/values.ts";
import { counted, inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

const PART = "/console/campaigns";

interface Rehearsed {
  meaning: string;
  seconds: number;
  transcript: TranscriptLine[];
}

/** The choice of a made-up person, with whom the call is played. */
export function rehearsalForm({ id }: Row, chosen = ""): Html {
  const options = Object.keys(PERSONAS).map(
    (name) => html`<option value="${name}"${name === chosen ? html` selected` : ""}>${words(name)}</option>`,
  );
  return html`<form class="search" method="get" action="${PART}/${id}/rehearsal" aria-label="${say().general.rehearsal}"><div class="field"><label for="persona">${say().campaigns.withAMadeupPerson}</label><select id="persona" name="persona">${options}</select></div><button class="quiet small">${say().campaigns.rehearseTheCall}</button></form>`;
}

/** The call of a voice campaign as the built-in simulator plays it. Nobody is called. */
export async function rehearsalPage(desk: Desk): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  const { persona = "" } = desk.c.req.query();
  const campaign = await desk.run("get_campaign", { id: campaignId });
  const { meaning, seconds, transcript } = await desk.run<Rehearsed>("rehearse_voice_call", {
    campaignId,
    ...(persona !== "" && { persona }),
  });
  return consolePage(desk, {
    part: PART,
    above: { path: `${PART}/${campaign.id}?check=yes`, name: String(campaign.name) },
    heading: say().general.rehearsal,
    content: html`<p class="soft">${say().campaigns.nobodyCalledAndNothingKept}</p>${rehearsalForm(campaign, persona)}<p>${inEnglish(meaning)} ${say().campaigns.aboutLength(counted(seconds, "second"))}</p>${transcriptOf(transcript)}`,
  });
}
