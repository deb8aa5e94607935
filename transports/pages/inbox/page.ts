import { html } from "hono/html";
import { isUuid } from "#db/text.ts";
import { Fault, toFault } from "#runtime/faults.ts";
import type { Folder, Inbox } from "#tools/inbox/inbox.ts";
import { isMachine } from "#tools/tracking/engagement.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { UNSEEN } from "#transports/pages/frame/page.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import { mountPlayerLink, type PageVisit } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { listOf } from "./list.ts";
import { messageOf } from "./message.ts";

const MARKS_OF_FORMS = ["pinned", "unpinned", "archived", "restored"];

/** Mounts the inbox for people: the list, each message, and the button of a message. It needs no script. */
export function mountInboxPage(mounting: Mounting): void {
  mountPlayerLink(mounting, "inbox", "get", "", showList);
  mountPlayerLink(mounting, "inbox", "get", "/:id", showMessage);
  mountPlayerLink(mounting, "inbox", "post", "/:id", mark);
  mountPlayerLink(mounting, "inbox", "get", "/:id/open", follow);
}

async function showList(visit: PageVisit): Promise<Response> {
  const { c, run, speech } = visit;
  const folder: Folder = c.req.query("folder") === "archive" ? "archive" : "inbox";
  const page = Math.min(100, Math.max(1, Number.parseInt(c.req.query("page") ?? "1", 10) || 1));
  const inbox = await run<Inbox>("show_inbox", { folder, page });
  return playerPage(visit, {
    heading: speech.say(folder === "inbox" ? "inbox" : "archived"),
    content: listOf(visit, inbox, { folder, page }),
    form: "list",
    styles: ["inbox.css"],
    scripts: ["inbox.js"],
  });
}

/** Opening a message is reading it, unless a program that looks at links for its user opens it. */
async function showMessage(visit: PageVisit): Promise<Response> {
  const id = idOf(visit);
  const { c, run } = visit;
  const known = await find(visit, id);
  if (!known) return gone(visit);
  const byPerson = !isMachine(c.req.method, c.req.header("user-agent"));
  if (byPerson && known.items[0]!.read_at === null) {
    await run<Inbox>("mark_inbox_messages", { ids: [id], mark: "read" });
  }
  return playerPage(visit, {
    heading: known.items[0]!.title,
    content: messageOf(visit, known.items[0]!),
    form: "list",
    styles: ["inbox.css", "message.css"],
  });
}

/** A form's button. It leads back to the list, or to the message where it was pressed there. */
async function mark(visit: PageVisit): Promise<Response> {
  const { c, run, here } = visit;
  const id = idOf(visit);
  const form = await readForm(c);
  const wanted = form?.get("mark") ?? "";
  if (!MARKS_OF_FORMS.includes(wanted)) throw new Fault("invalid");
  try {
    await run("mark_inbox_messages", { ids: [id], mark: wanted });
  } catch (error) {
    if (toFault(error).status !== 404) throw error;
    return gone(visit);
  }
  const stays = form?.get("from") === "message" && wanted !== "archived";
  const list = form?.get("folder") === "archive" ? `${here}?folder=archive` : here;
  return new Response(null, {
    status: 303,
    headers: { ...UNSEEN, location: stays ? `${here}/${id}` : list },
  });
}

/** The button of a message: it counts the click and leads to the message's own address, and to no other. */
async function follow(visit: PageVisit): Promise<Response> {
  const { c, run } = visit;
  const id = idOf(visit);
  const url = (await find(visit, id))?.items[0]?.cta_url;
  if (!url) return gone(visit);
  if (!isMachine(c.req.method, c.req.header("user-agent"))) {
    await run("mark_inbox_messages", { ids: [id], mark: "clicked" });
  }
  return new Response(null, { status: 302, headers: { ...UNSEEN, location: new URL(url).href } });
}

function idOf({ c }: PageVisit): string {
  const id = c.req.param("id") ?? "";
  return isUuid(id) ? id : "";
}

async function find({ run }: PageVisit, id: string): Promise<Inbox | null> {
  if (id === "") return null;
  try {
    return await run<Inbox>("show_inbox", { messageId: id });
  } catch (error) {
    if (toFault(error).status === 404) return null;
    throw error;
  }
}

/** The same for a message that has expired, that another player has, and that never was. */
function gone(visit: PageVisit): Promise<Response> {
  const { say } = visit.speech;
  return playerPage(visit, {
    heading: say("message_gone"),
    content: html`<p>${say("message_gone_help")}</p><a class="button" href="${visit.here}">${say("back")}</a>`,
    status: 404,
    styles: ["inbox.css"],
  });
}
