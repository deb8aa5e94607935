import { html } from "hono/html";
import type { InboxItem } from "#tools/inbox/inbox.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";
import { actionsOf } from "./list.ts";

/** One message: its text, its offer with the code, its button. */
export function messageOf(visit: PageVisit, item: InboxItem): Html {
  const { speech, property, here } = visit;
  const folder = item.archived_at === null ? "inbox" : "archive";
  const back = folder === "archive" ? `${here}?folder=archive` : here;
  return html`<p class="back"><a href="${back}">${speech.say("back")}</a></p><article class="open"><div class="meta">${
    item.pinned ? html`<span class="pin">${speech.say("pinned")}</span>` : ""
  }${item.category ? html`<span>${item.category}</span>` : ""}<time datetime="${item.delivered_at}">${speech.day(item.delivered_at, property.timezone)}</time></div><h1>${item.title}</h1>${ticket(visit, item)}<div class="text">${paragraphs(item.body)}</div>${
    item.cta_url
      ? html`<a class="button" href="${here}/${item.id}/open" rel="noreferrer">${item.cta_label ?? speech.say("open_offer")}</a>`
      : ""
  }${actionsOf(visit, item, { from: "message", folder })}</article>`;
}

function ticket({ speech, property }: PageVisit, { offer }: InboxItem): Html | "" {
  if (!offer) return "";
  const { say, day } = speech;
  const date = offer.expires_at && day(offer.expires_at, property.timezone);
  return html`<section class="${offer.expired ? "ticket over" : "ticket"}" aria-label="${say("offer")}"><p class="kind">${offer.type}</p><p class="value">${offer.value}</p>${
    offer.code
      ? html`<div class="stub"><p class="kind">${say("code")}</p><p class="code">${offer.code}</p><p class="hint">${say("code_help")}</p></div>`
      : ""
  }${date ? html`<p class="until">${say(offer.expired ? "expired" : "expires", { date })}</p>` : ""}</section>`;
}

const LINK = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)]/g;

/** The text as paragraphs, with its addresses as links. */
function paragraphs(body: string): Html[] {
  return body
    .trim()
    .split(/\n{2,}/)
    .map((part) => html`<p>${linked(part)}</p>`);
}

function linked(text: string): (string | Html)[] {
  const pieces: (string | Html)[] = [];
  let from = 0;
  for (const { 0: url, index } of text.matchAll(LINK)) {
    pieces.push(text.slice(from, index), html`<a href="${url}" rel="noreferrer">${url}</a>`);
    from = index + url.length;
  }
  return [...pieces, text.slice(from)];
}
