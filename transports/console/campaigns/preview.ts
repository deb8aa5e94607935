import { html } from "hono/html";
import { toFault } from "#runtime/faults.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import type { Desk, Row } from "#transports/console/desk.ts";
import {
  type Chosen,
  choosing,
  chosenIn,
  type Variants,
  withChosen,
} from "#transports/console/preview/chosen.ts";
import { framed, type Preview, patiently, previewView } from "#transports/console/preview/message.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { lawOf } from "./calls.ts";

/** A campaign's message as a chosen player gets it. */
export async function previewOf(desk: Desk, campaign: Row): Promise<Html> {
  const path = `/console/campaigns/${campaign.id}`;
  const variants = variantsOf(campaign);
  const { variantId, ...player } = await chosenIn(desk);
  let chosen: Chosen = { ...player, ...(variantId && { variantId }) };
  const shown = () =>
    patiently(() => desk.run<Preview>("preview_campaign", { campaignId: campaign.id, ...chosen }));
  const preview = await shown().catch((fault) => {
    // The test may go at any moment, and a page that refreshes itself still names its variant.
    const isGone = toFault(fault).details?.some(({ field }) => field === "variantId");
    if (!isGone) throw fault;
    chosen = player;
    return shown();
  });
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
