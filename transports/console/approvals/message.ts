import { html } from "hono/html";
import type { Desk } from "#transports/console/desk.ts";
import {
  type Chosen,
  choosing,
  chosenIn,
  type Variants,
  withChosen,
} from "#transports/console/preview/chosen.ts";
import { asWritten, framed, messageView, previewView } from "#transports/console/preview/message.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Preflight, Previewed, Tried } from "./previewed.ts";

const PART = "/console/approvals";

/** The message of a proposal: a campaign's or a journey's for a chosen player, else what the call itself would write. */
export async function messageSection(desk: Desk, previewed: Previewed, chosen: Chosen): Promise<Html | ""> {
  const { proposal, preview, shown } = previewed;
  const path = `${PART}/${proposal.id}`;
  const source = withChosen(`${path}/message`, chosen);
  const words = say().approvals;
  if (shown) {
    const { node, nodes } = shown;
    if (node === null) return "";
    const messages = nodes?.map((id) => ({ id })) ?? [];
    const variants = nodes ? [] : (variantsOf(preview) ?? (await variantsNow(desk, proposal)));
    const form = choosing(desk, { variants, chosen, action: path, kept: nodes && chosen.variantId });
    const samples = preview?.preflight ? samplesOf(path, preview.preflight) : "";
    const heading = nodes ? words.messagesOfTheJourney : words.asPlayersWillSee;
    return html`<h2>${heading}</h2>${samples}${tabsOf(path, messages, { ...chosen, variantId: node ?? "" })}${sectionOf(html`${form}${previewView(shown, source)}`)}`;
  }
  if (!preview?.subject && !preview?.html && !preview?.text) return "";
  return html`<h2>${words.contentAsWouldBe}</h2>${sectionOf(messageView(asWritten(preview), source))}`;
}

/** The messages of a journey, one beside the other, for the same player. */
function tabsOf(path: string, messages: readonly { id: string }[], chosen: Chosen): Html | "" {
  if (messages.length < 2) return "";
  const links = messages.map(({ id }) => {
    const isShown = id === chosen.variantId;
    const to = withChosen(path, { ...chosen, variantId: id });
    return html`<li><a href="${to}"${isShown ? html` aria-current="true"` : ""}>${id}</a></li>`;
  });
  return html`<ul class="filters" aria-label="${say().approvals.messagesOfTheJourney}">${links}</ul>`;
}

/** The HTML of the message. The page shows it in a frame without scripts and without our cookies. */
export async function previewMessage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const chosen = await chosenIn(desk);
  const { preview, shown } = await desk.run<Previewed>("preview_proposal", { proposalId, ...chosen });
  return framed(String((shown ? shown.message?.html : preview?.html) ?? ""));
}

function sectionOf(content: Html): Html {
  return html`<section class="preview" aria-label="${say().general.preview}">${content}</section>`;
}

function variantsOf(preview: Tried | null): Variants | undefined {
  return (preview?.ab_test ?? preview?.campaign?.ab_test)?.variants;
}

async function variantsNow(desk: Desk, { input }: Previewed["proposal"]): Promise<Variants> {
  const id = input.campaignId ?? input.campaign_id ?? input.id;
  const { ab_test } = await desk.run<{ ab_test: { variants: Variants } | null }>("get_campaign", { id });
  return ab_test?.variants ?? [];
}

/** The first players who get it, each a way to their own message. */
function samplesOf(path: string, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">${say().general.nobodyWouldGetIt}</p>`;
  return html`<ul>${sample_renders.map(
    ({ player_id, to, subject }) =>
      html`<li>${to}${subject ? html`: ${subject}` : ""} <a href="${path}?player=${player_id}">${say().report.seeThisMessage}</a></li>`,
  )}</ul>`;
}
