import { html } from "hono/html";
import type { Preference } from "#tools/preferences/preferences.ts";
import { isErased, refuseAgain } from "#tools/preferences/unsubscribe.ts";
import { shownName } from "#tools/themes/theme.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { playerPage } from "#transports/pages/frame/player-page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { type MessageLink, mountMessageLink } from "./message-link.ts";

/** A field of our page's form. A mail program's server, which acts for the person, sends another. */
const PRESSED = "pressed";

/**
 * Mounts the page of unsubscribe links. GET changes nothing; POST acts at once, with any body
 * (RFC 8058: no redirect, no cookie).
 */
export function mountUnsubscribe(mounting: Mounting): void {
  mountMessageLink(mounting, "/u", {
    async get(link) {
      if (await link.read((tenant) => isErased(tenant, link.sendId))) return erasedPage(link);
      const { preferences } = await link.run<{ preferences: Preference[] }>("get_preferences");
      const email = preferences.find(({ channel }) => channel === "email");
      return email?.on ? askPage(link) : donePage(link);
    },
    async post(link, c) {
      if (await link.read((tenant) => isErased(tenant, link.sendId))) return erasedPage(link);
      // A message can be forwarded, and its link used again and again: a repeat adds nothing to the ledgers.
      if (!(await link.write((context) => refuseAgain(context, link.sendId)))) {
        const isPressed = (await readForm(c))?.has(PRESSED) ?? false;
        await link.run("unsubscribe", { method: isPressed ? "preference_page" : "one_click" });
      }
      return donePage(link);
    },
  });
}

/** Records nothing: the erasure barred the address, and the link no longer knows it. */
function erasedPage(link: MessageLink): Promise<Response> {
  const { say } = link.speech;
  const name = shownName(link.theme, link.property);
  return playerPage(link, {
    heading: say("erased"),
    content: html`<p>${say("erased_help", { name })}</p><p class="soft">${say("erased_more", { name })}</p>`,
  });
}

function askPage(link: MessageLink): Promise<Response> {
  const { say } = link.speech;
  return playerPage(link, {
    heading: say("unsubscribe_ask"),
    content: html`<p>${say("unsubscribe_ask_help", { name: shownName(link.theme, link.property) })}</p><form method="post"><button type="submit" name="${PRESSED}" value="on">${say("unsubscribe")}</button></form><p class="soft"><a href="/preferences/${link.token}">${say("unsubscribe_choose")}</a></p>`,
  });
}

function donePage(link: MessageLink): Promise<Response> {
  const { say } = link.speech;
  return playerPage(link, {
    heading: say("unsubscribed"),
    content: html`<p>${say("unsubscribed_help", { name: shownName(link.theme, link.property) })}</p><p class="soft">${say("unsubscribed_more")} <a href="/preferences/${link.token}">${say("unsubscribed_preferences")}</a></p>`,
  });
}
