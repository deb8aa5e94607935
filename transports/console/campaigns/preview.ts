import { html } from "hono/html";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { choosing, chosenIn, type Variants, withChosen } from "#transports/console/preview/chosen.ts";
import { framed, type Preview, previewView } from "#transports/console/preview/message.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { lawOf } from "./calls.ts";

/** A campaign's message as a chosen player gets it. */
export async function previewOf(desk: Desk, campaign: Row): Promise<Html> {
  const path = `/console/campaigns/${campaign.id}`;
  const { variantId, ...player } = await chosenIn(desk);
  // The page stays what it is where its test has been removed meanwhile.
  const isThere = variantsOf(campaign).some(({ id }) => id === variantId);
  const chosen = { ...player, ...(isThere && variantId && { variantId }) };
  const preview = await desk.run<Preview>("preview_campaign", { campaignId: campaign.id, ...chosen });
  const form = choosing(desk, { variants: variantsOf(campaign), chosen, action: path });
  const law = preview.message && campaign.voice_script ? lawOf(campaign.voice_script as VoiceScript) : "";
  return html`${form}${previewView(preview, withChosen(`${path}/message`, chosen))}${law}`;
}

/** The HTML of the previewed message, for a frame without scripts and without our cookies. */
export async function messageOf(desk: Desk): Promise<Response> {
  const campaignId = desk.c.req.param("id");
  const { message } = await desk.run<Preview>("preview_campaign", {
    campaignId,
    ...(await chosenIn(desk)),
  });
  return framed(message?.html ?? "");
}

function variantsOf({ ab_test }: Row): Variants {
  return (ab_test as { variants: Variants } | null)?.variants ?? [];
}
