import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
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

/** The message of a proposal: a campaign's for a chosen player, a journey's or a template's as it is written. */
export async function messageSection(desk: Desk, previewed: Previewed, chosen: Chosen): Promise<Html | ""> {
  const { proposal, preview, shown } = previewed;
  const path = `${PART}/${proposal.id}`;
  const source = withChosen(`${path}/message`, chosen);
  const words = say().approvals;
  if (shown) {
    const variants = variantsOf(preview) ?? (await variantsNow(desk, proposal));
    const form = choosing(desk, { variants, chosen, action: path });
    const samples = preview?.preflight ? samplesOf(path, preview.preflight) : "";
    return html`<h2>${words.asPlayersWillSee}</h2>${samples}${sectionOf(html`${form}${previewView(shown, source)}`)}`;
  }
  const nodes = await messagesOf(desk, previewed);
  if (nodes.length > 0) {
    const node = nodes.find(({ id }) => id === chosen.variantId) ?? nodes[0]!;
    const links = nodes.map(
      ({ id }) =>
        html`<li><a href="${path}?variant=${encodeURIComponent(id)}"${id === node.id ? html` aria-current="true"` : ""}>${id}</a></li>`,
    );
    return html`<h2>${words.messagesOfTheJourney}</h2><ul class="filters" aria-label="${words.messagesOfTheJourney}">${links}</ul>${sectionOf(messageView(asWritten(node), source))}`;
  }
  if (!preview?.subject && !preview?.html && !preview?.text) return "";
  return html`<h2>${words.contentAsWouldBe}</h2>${sectionOf(messageView(asWritten(preview), source))}`;
}

/** The HTML of the message. The page shows it in a frame without scripts and without our cookies. */
export async function previewMessage(desk: Desk): Promise<Response> {
  const proposalId = desk.c.req.param("id");
  const chosen = await chosenIn(desk);
  const previewed = await desk.run<Previewed>("preview_proposal", { proposalId, ...chosen });
  const { preview, shown } = previewed;
  if (shown) return framed(shown.message?.html ?? "");
  const nodes = await messagesOf(desk, previewed);
  const node = nodes.find(({ id }) => id === chosen.variantId) ?? nodes[0];
  return framed(String((node ? node.html : preview?.html) ?? ""));
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

interface Written {
  id: string;
  subject: unknown;
  html: unknown;
  text: unknown;
}

/** The messages of a journey that waits to be published, with the texts of their templates. */
async function messagesOf(desk: Desk, { proposal }: Previewed): Promise<Written[]> {
  if (proposal.tool !== "publish_journey" || proposal.status !== "waiting") return [];
  const { draft_definition } = await desk.run("get_journey", { id: proposal.input.journeyId });
  const { nodes } = draft_definition as { nodes: { id: string; type: string; config: Row }[] };
  const messages = nodes.filter(({ type }) => type === "message");
  return Promise.all(
    messages.map(async ({ id, config }) => {
      const template = config.template_id ? await desk.run("get_template", { id: config.template_id }) : null;
      return {
        id,
        subject: config.subject ?? template?.subject,
        html: config.body_html ?? template?.html,
        text: config.body_text ?? template?.text,
      };
    }),
  );
}

/** The first players who get it, each a way to their own message. */
function samplesOf(path: string, { sample_renders }: Preflight): Html {
  if (sample_renders.length === 0) return html`<p class="soft">${say().general.nobodyWouldGetIt}</p>`;
  return html`<ul>${sample_renders.map(
    ({ player_id, to, subject }) =>
      html`<li>${to}${subject ? html`: ${subject}` : ""} <a href="${path}?player=${player_id}">${say().report.seeThisMessage}</a></li>`,
  )}</ul>`;
}
