import { html } from "hono/html";
import type { Folder, Inbox, InboxItem } from "#tools/inbox/inbox.ts";
import { shownName } from "#tools/themes/theme.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { PageVisit } from "#transports/pages/player/player-link.ts";

const TEASER_CHARACTERS = 140;

interface Shown {
  folder: Folder;
  page: number;
}

/** The list of an inbox, with its folders and its pages. */
export function listOf(visit: PageVisit, inbox: Inbox, shown: Shown): Html {
  const { say } = visit.speech;
  const items = inbox.items.map((item) => row(visit, item, shown));
  return html`<div class="head"><h1>${say(shown.folder === "inbox" ? "inbox" : "archived")}</h1>${badge(visit, inbox)}</div>${folders(visit, shown.folder)}${
    items.length > 0
      ? html`<ul class="messages" data-token="${visit.token}" data-etag="${inbox.etag}">${items}</ul>`
      : empty(visit, shown.folder)
  }${pages(visit, inbox.more, shown)}`;
}

function badge({ speech: { say } }: PageVisit, { unread }: Inbox): Html {
  const text = unread === 0 ? "" : say("inbox_new", { count: unread });
  return html`<p class="badge" role="status" data-unread data-text="${say("inbox_new")}">${text}</p>`;
}

function folders({ speech: { say }, here }: PageVisit, current: Folder): Html {
  const link = (folder: Folder, href: string, text: string) =>
    html`<a href="${href}" ${folder === current ? html`aria-current="page"` : ""}>${text}</a>`;
  return html`<nav class="folders" aria-label="${say("folders")}">${link("inbox", here, say("inbox"))}${link(
    "archive",
    `${here}?folder=archive`,
    say("archived"),
  )}</nav>`;
}

function empty({ speech: { say }, property, theme }: PageVisit, folder: Folder): Html {
  const isInbox = folder === "inbox";
  const name = shownName(theme, property);
  return html`<div class="empty"><p class="mark" aria-hidden="true"></p><h2>${say(isInbox ? "inbox_empty" : "archive_empty")}</h2><p class="soft">${say(
    isInbox ? "inbox_empty_help" : "archive_empty_help",
    { name },
  )}</p></div>`;
}

function row(visit: PageVisit, item: InboxItem, { folder }: Shown): Html {
  const { speech, property, here } = visit;
  const { say } = speech;
  const isNew = item.read_at === null;
  const teaser = teaserOf(item.body);
  return html`<li class="${isNew ? "message new" : "message"}" ${item.seen_at === null ? html`data-unseen="${item.id}"` : ""}><div class="meta">${
    isNew ? html`<span class="dot"><span class="unseen">${say("unread")}</span></span>` : ""
  }${item.pinned ? html`<span class="pin">${say("pinned")}</span>` : ""}${item.category ? html`<span>${item.category}</span>` : ""}<time datetime="${item.delivered_at}">${speech.day(item.delivered_at, property.timezone)}</time></div><h2><a href="${here}/${item.id}">${item.title}</a></h2>${chip(visit, item)}<p class="teaser">${teaser}</p>${actionsOf(visit, item, { from: "list", folder })}</li>`;
}

function chip({ speech, property }: PageVisit, { offer }: InboxItem): Html | "" {
  if (!offer) return "";
  const until = offer.expires_at
    ? speech.say(offer.expired ? "expired" : "expires", {
        date: speech.day(offer.expires_at, property.timezone),
      })
    : null;
  return html`<p class="${offer.expired ? "chip over" : "chip"}"><b>${offer.value}</b> <span>${offer.type}</span>${until ? html`<span class="until">${until}</span>` : ""}</p>`;
}

/** The buttons of a message, each a form of its own. */
export function actionsOf(
  { speech: { say }, here }: PageVisit,
  { id, title, pinned, archived_at }: InboxItem,
  { from, folder }: { from: "list" | "message"; folder: Folder },
): Html {
  const button = (mark: string, text: string) =>
    html`<button class="small" name="mark" value="${mark}" aria-label="${text}: ${title}">${text}</button>`;
  return html`<form class="actions" method="post" action="${here}/${id}"><input type="hidden" name="from" value="${from}"><input type="hidden" name="folder" value="${folder}">${
    pinned ? button("unpinned", say("unpin")) : button("pinned", say("pin"))
  }${archived_at === null ? button("archived", say("archive")) : button("restored", say("restore"))}</form>`;
}

function pages({ speech: { say }, here }: PageVisit, more: boolean, { folder, page }: Shown): Html | "" {
  if (!more && page === 1) return "";
  const to = (number: number) => `${here}?${folder === "archive" ? "folder=archive&" : ""}page=${number}`;
  return html`<nav class="pages" aria-label="${say("pages")}">${page > 1 ? html`<a href="${to(page - 1)}">${say("newer")}</a>` : ""}${more ? html`<a href="${to(page + 1)}">${say("more")}</a>` : ""}</nav>`;
}

function teaserOf(body: string): string {
  const line = body
    .replace(/https?:\/\/([^\s/?#]+)\S*/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > TEASER_CHARACTERS
    ? `${line
        .slice(0, TEASER_CHARACTERS)
        .toWellFormed()
        .replace(/\s+\S*$/, "")} …`
    : line;
}
