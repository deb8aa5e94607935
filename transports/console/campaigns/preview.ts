import { html } from "hono/html";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import { choosing, chosenIn, type Variants, withChosen } from "#transports/console/preview/chosen.ts";
import { framed, type Preview, patiently, previewView } from "#transports/console/preview/message.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { lawOf } from "./calls.ts";

/** A campaign's message as a chosen player gets it. */
export async function previewOf(desk: Desk, campaign: Row): Promise<Html> {
  const path = `/console/campaigns/${campaign.id}`;
  const variants = variantsOf(campaign);
  const { variantId, ...player } = await chosenIn(desk);
  // The test may be gone meanwhile, and a page that refreshes itself still names its variant.
  const chosen = variants.some(({ id }) => id === variantId) ? { ...player, variantId: variantId! } : player;
  const asked = { campaignId: campaign.id, ...chosen };
  const preview = await patiently(() => desk.run<Preview>("preview_campaign", asked));
  const form = choosing(desk, { variants, chosen, action: path });
  const law = preview.message && campaign.voice_script ? lawOf(campaign.voice_script as VoiceScript) : "";
  return html`${form}${previewView(preview, withChosen(`${path}/message`, chosen))}${law}`;
}

/** The HTML of the previewed message, for a frame without scripts and without our cookies. */
export async function messageOf(desk: Desk): Promise<Response> {
  const asked = { campaignId: desk.c.req.param("id"), ...(await chosenIn(desk)) };
  const { message } = await patiently(() => desk.run<Preview>("preview_campaign", asked));
  return framed(message?.html ?? "");
}

function variantsOf({ ab_test }: Row): Variants {
  return (ab_test as { variants: Variants } | null)?.variants ?? [];
}
